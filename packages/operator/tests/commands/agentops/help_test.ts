/** What every command of `agentops` says about itself. */
import assert from "node:assert/strict";
import { ABOUT } from "../../../agentops/help.ts";
import { VERBS } from "../../../agentops/verbs.ts";
import { helpOf, helpOfAll } from "../../../../command/help.ts";
import { loadVerbs } from "../../../../command/verbs.ts";
import { runTask } from "../../../../local/tests/stack/stack_process.ts";
import { COMMANDS } from "../every_command.ts";
import { runInProcess } from "../in_process.ts";

const COLUMNS = 80;

const verbs = await loadVerbs(VERBS);

function tooWide(text: string): string[] {
  return text.split("\n").filter((line) => line.length > COLUMNS);
}

Deno.test("agentops --help in 80 columns → every verb, and no line is wider", () => {
  const text = helpOfAll(ABOUT, verbs, COLUMNS);
  for (const verb of Object.keys(VERBS)) assert.match(text, new RegExp(`^ {2}${verb} `, "m"));
  assert.deepEqual(tooWide(text), []);
});

Deno.test("--help of every command in 80 columns → no line is wider, with an example of itself", () => {
  assert.ok(COMMANDS.length > 40, String(COMMANDS.length));
  for (const [name, command] of COMMANDS) {
    const text = helpOf(name, command, COLUMNS);
    assert.deepEqual(tooWide(text), [], name);
    assert.ok(command.example.includes(name.replace(/ (?:show|list)$/, "")), name);
    assert.match(command.summary, /\.$/, name);
  }
});

Deno.test("every command with --help, and with a wrong option and --json → its help; one JSON error, exit code 2", async () => {
  for (const [name, { parts }] of COMMANDS) {
    if (parts !== undefined) continue;
    const words = name.split(" ").slice(1);
    const help = await runInProcess([...words, "--help"]);
    assert.deepEqual([help.code, help.errors], [0, ""], name);
    assert.match(help.output, new RegExp(`\\n\\nUsage: ${name}(?: |$)`, "m"));
    assert.match(help.output, /^ {6}--json +print one JSON value per line$/m, name);
    assert.deepEqual(tooWide(help.output), [], name);
    const { code, output, errors } = await runInProcess([...words, "--no-such", "--json"]);
    assert.deepEqual([code, output], [2, ""], name);
    assert.equal(JSON.parse(errors).error.code, "usage", name);
  }
});

Deno.test("agentops agnet, agentops agent, agentops --project → exit code 2 and what to do", async () => {
  const refused = async (...args: string[]) => {
    const { code, errors } = await runTask("agentops", { args });
    assert.equal(code, 2, errors);
    return errors;
  };
  assert.equal(
    await refused("agnet", "list"),
    "agentops: unknown verb: agnet. Did you mean agent? See: agentops --help",
  );
  assert.match(await refused("agent"), /^agentops agent: Say what to do: .*\blist, .* See: /);
  assert.match(await refused("agent", "list", "--project"), /^agentops: --project takes a name /);
  assert.match(await refused("agent", "list", "--project", "../x"), /--project takes a name /);
});
