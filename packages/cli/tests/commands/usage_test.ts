/** The command's reactions to its arguments, before it sends a request. */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../../local/project.ts";
import { Desk } from "../desk.ts";

/** An environment without credentials; there is no stored login either. */
const STRANGER = { AGENT_URL: "", AGENT_KEY: "", AGENT_ID: "" };

Deno.test("agentfiles --version → the version of package.json", async () => {
  await using planner = await Desk.of("planner");
  const { code, output } = await planner.run(["--version"], STRANGER);
  const file = join(PROJECT, "packages/agent-files/package.json");
  const { version } = JSON.parse(await readFile(file, "utf8"));
  assert.deepEqual([code, output], [0, `agentfiles ${version}\n`]);
});

for (
  const [args, sentence] of [
    [["fly"], "agentfiles: unknown verb: fly. See: agentfiles --help"],
    [["pt", "x"], "agentfiles: unknown verb: pt. Did you mean put? See: agentfiles --help"],
    [
      ["unlnk", "x"],
      "agentfiles: unknown verb: unlnk. Did you mean unlink? See: agentfiles --help",
    ],
    [["toString"], "agentfiles: unknown verb: toString. See: agentfiles --help"],
    [
      ["--verison"],
      "agentfiles: unknown option: --verison. Did you mean --version? See: agentfiles --help",
    ],
    [
      ["put", "x", "--link", "--max-down", "2"],
      "agentfiles put: unknown option: --max-down. Did you mean --max-downloads? See: agentfiles put --help",
    ],
    [
      ["inbox", "--folow"],
      "agentfiles inbox: unknown option: --folow. Did you mean --follow? See: agentfiles inbox --help",
    ],
    [["ls", "-x"], "agentfiles ls: unknown option: -x. See: agentfiles ls --help"],
    [
      ["mesh", "statsu"],
      "agentfiles mesh: unknown verb: statsu. Did you mean status? See: agentfiles mesh --help",
    ],
    [
      ["mesh", "config", "--ot", "x"],
      "agentfiles mesh config: unknown option: --ot. Did you mean --out? See: agentfiles mesh config --help",
    ],
    [
      ["get", "x", "--from"],
      "agentfiles get: Option '--from <value>' argument missing. See: agentfiles get --help",
    ],
    [["whoami", "me"], "agentfiles whoami: Give only options. See: agentfiles whoami --help"],
    [
      ["login", "ak_secret"],
      "agentfiles login: Do not pass the agent key as an argument: it is read from the terminal or standard input. See: agentfiles login --help",
    ],
    [
      ["completion", "tcsh"],
      "agentfiles completion: Name one shell: bash, zsh or fish. See: agentfiles completion --help",
    ],
    [
      ["unlink", "https://x/d/g_1"],
      "agentfiles unlink: Name the link by its id or its file: `agentfiles links` shows both. See: agentfiles unlink --help",
    ],
  ] as const
) {
  Deno.test(`agentfiles ${args.join(" ")} → exit code 2, and one sentence`, async () => {
    await using planner = await Desk.of("planner");
    const { code, output, errors } = await planner.run(args);
    assert.deepEqual([code, output, errors], [2, "", `${sentence}\n`]);
  });
}

Deno.test("agentfiles fly --json → exit code 2, and the error as JSON", async () => {
  await using planner = await Desk.of("planner");
  const { code, output, errors } = await planner.run(["fly", "--json"]);
  assert.deepEqual([code, output], [2, ""]);
  const { error } = JSON.parse(errors);
  assert.deepEqual(error, { code: "usage", message: "unknown verb: fly." });
});

Deno.test("agentfiles help VERB, a verb's part with --help → its help", async () => {
  await using planner = await Desk.of("planner");
  const { code, output } = await planner.run(["help", "mesh", "config"], STRANGER);
  assert.equal(code, 0);
  assert.match(output, /^Usage: agentfiles mesh config \[--out FILE\]$/m);
  assert.deepEqual((await planner.run(["mesh", "config", "-h"], STRANGER)).output, output);
});

for (
  const [what, login, expected] of [
    ["no login", null, [3, "not_logged_in"]],
    ["a login for another address", { url: "http://127.0.0.2:1", key: "ak_x" }, [
      3,
      "not_logged_in",
    ]],
    ["a damaged login", { key: "ak_x" }, [1, "failed"]],
  ] as const
) {
  Deno.test(`agentfiles whoami with ${what} → exit code ${expected[0]}`, async () => {
    await using planner = await Desk.of("planner");
    const folder = planner.path("settings/agentfiles");
    await mkdir(folder, { recursive: true });
    if (login !== null) {
      await writeFile(join(folder, "login.json"), JSON.stringify(login), { mode: 0o600 });
    }
    const environment = { ...STRANGER, AGENT_URL: "http://127.0.0.1:1" };
    const { code, output, errors } = await planner.run(["whoami", "--json"], environment);
    assert.equal(output, "");
    assert.deepEqual([code, JSON.parse(errors).error.code], expected);
  });
}
