import assert from "node:assert/strict";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../project.ts";
import { openStateDirectory } from "./stack_process.ts";

/** The parts of the project that `deno task schema:diff` needs. */
const PARTS = ["deno.json", "dev", "packages"]
  .concat("supabase/config.toml", "supabase/migrations", "supabase/schemas");

/** The output lines of `deno task schema:diff` in a copy of the project, after `change`. */
async function schemaDiff(change: (supabase: string) => Promise<void>) {
  await using copy = await openStateDirectory();
  for (const part of PARTS) {
    await cp(join(PROJECT, part), join(copy.path, part), { recursive: true });
  }
  await change(join(copy.path, "supabase"));
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "--quiet", "schema:diff"],
    cwd: copy.path,
    env: { NO_COLOR: "1" },
  }).output();
  const text = new TextDecoder();
  return { code, lines: (text.decode(stdout) + text.decode(stderr)).trimEnd().split("\n") };
}

Deno.test("deno task schema:diff of a column more in supabase/schemas → one line of it, one difference, exit 1", async () => {
  const { code, lines } = await schemaDiff(async (supabase) => {
    const file = join(supabase, "schemas/mesh/peers.sql");
    const text = await readFile(file, "utf8");
    const changed = text.replace("create table mesh.peers (\n", "$&  noted text,\n");
    assert.notEqual(changed, text);
    await writeFile(file, changed);
  });
  assert.deepEqual(lines, [
    "column mesh.peers.noted: in supabase/schemas, not made by the migrations.",
    "The migrations (-) do not make what supabase/schemas (+) says: 1 difference.",
  ]);
  assert.equal(code, 1);
});

Deno.test("deno task schema:diff of a function that a migration makes again without its privileges → says so in words, with the statements, in ten lines at most", async () => {
  const { code, lines } = await schemaDiff(async (supabase) => {
    const schema = await readFile(join(supabase, "schemas/enrolment/ends.sql"), "utf8");
    const [definition] = /^create function public\.agent_api_leave\(.*?^(?:\$\$|end);$/ms
      .exec(schema)!;
    await writeFile(
      join(supabase, "migrations/30000101000000_leave.sql"),
      `drop function public.agent_api_leave;\n${definition}\n`,
    );
  });
  assert.ok(lines.length <= 10, lines.join("\n"));
  const said = lines.join("\n");
  assert.match(said, /^function public\.agent_api_leave\(.*\):$/m);
  assert.match(said, /The migrations let .*\banon\b.* execute it: revoke execute on function /);
  assert.match(said, /without its lock_timeout: alter function .* set lock_timeout to /);
  assert.match(lines.at(-1)!, / says: 1 difference\.$/);
  assert.equal(code, 1);
});
