/** The login's file, and its old place from when the command was called `agent`. */
import assert from "node:assert/strict";
import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { SUPABASE_URL } from "../../../../tests/conformance/client.ts";
import { Desk } from "../desk.ts";

const STRANGER = { AGENT_URL: "", AGENT_KEY: "", AGENT_ID: "" };
const [OLD, NEW] = ["settings/agent/login.json", "settings/agentfiles/login.json"];

/** Writes a login in the format of an earlier version. */
async function leaveLogin(desk: Desk, file: string): Promise<string> {
  const { key } = desk.agent;
  const text = JSON.stringify({ url: SUPABASE_URL, key });
  await mkdir(dirname(desk.path(file)), { recursive: true });
  await writeFile(desk.path(file), text, { mode: 0o600 });
  return text;
}

Deno.test("agentfiles with the login of `agent` → logged in, and the login is in its new place only", async () => {
  await using planner = await Desk.of("planner");
  const text = await leaveLogin(planner, OLD);
  for (const _ of ["first", "again"]) {
    const { code, output, errors } = await planner.run(["whoami"], STRANGER);
    assert.deepEqual([code, output], [0, `${planner.agent.id}\n`], errors);
  }
  assert.equal(await readFile(planner.path(NEW), "utf8"), text);
  assert.equal((await stat(planner.path(NEW))).mode & 0o777, 0o600);
  assert.deepEqual(await readdir(planner.path("settings")), ["agentfiles"]);
});

Deno.test("agentfiles with the login of `agent` and files of another program beside it → those stay", async () => {
  await using planner = await Desk.of("planner");
  await leaveLogin(planner, OLD);
  await writeFile(planner.path("settings/agent/config.toml"), "theirs");
  assert.equal((await planner.run(["whoami"], STRANGER)).code, 0);
  assert.deepEqual(await readdir(planner.path("settings/agent")), ["config.toml"]);
});

Deno.test("agentfiles with the login of `agent` that others can read → refused, and it stays where it is", async () => {
  await using planner = await Desk.of("planner");
  const text = await leaveLogin(planner, OLD);
  await chmod(planner.path(OLD), 0o644);
  const { code, errors } = await planner.run(["whoami"], STRANGER);
  assert.equal(code, 1);
  assert.match(errors, /chmod 600 .*settings\/agent\/login\.json/);
  assert.equal(await readFile(planner.path(OLD), "utf8"), text);
  assert.deepEqual(await readdir(planner.path("settings")), ["agent"]);
});

Deno.test("agentfiles with both logins → the new one counts, and the old one stays until login", async () => {
  await using planner = await Desk.of("planner");
  await leaveLogin(planner, NEW);
  await mkdir(dirname(planner.path(OLD)));
  await writeFile(planner.path(OLD), JSON.stringify({ url: SUPABASE_URL, key: "ak_old" }), {
    mode: 0o600,
  });
  assert.equal((await planner.run(["whoami"], STRANGER)).code, 0);
  assert.equal(JSON.parse(await readFile(planner.path(OLD), "utf8")).key, "ak_old");
  const login = ["login", "--url", SUPABASE_URL];
  assert.equal((await planner.run(login, STRANGER, `${planner.agent.key}\n`)).code, 0);
  assert.deepEqual(await readdir(planner.path("settings")), ["agentfiles"]);
});

Deno.test("agentfiles logout → no login is left, old or new; the agent key still works; again → says so", async () => {
  await using planner = await Desk.of("planner");
  await leaveLogin(planner, OLD);
  await leaveLogin(planner, NEW);
  const { code, output } = await planner.run(["logout"], STRANGER);
  assert.deepEqual([code, output], [0, "Logged out.\n"]);
  assert.deepEqual(await readdir(planner.path("settings")), []);
  assert.equal((await planner.run(["whoami"], STRANGER)).code, 3);
  assert.equal((await planner.run(["whoami"])).code, 0);
  const again = await planner.run(["logout", "--json"], STRANGER);
  assert.deepEqual([again.code, JSON.parse(again.output)], [0, { removed: false }]);
});
