import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { chmod, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AgentMesh } from "../../agent-files/index.ts";
import { SUPABASE_URL } from "../../../tests/conformance/client.ts";
import { withStackDatabase } from "../../../tests/database/connection.ts";
import { Desk } from "./desk.ts";

Deno.test("agentfiles put, inbox --download, again → the file, then that it is already there; nothing is overwritten", async () => {
  await using planner = await Desk.of("planner");
  await using builder = await Desk.of("builder");
  await writeFile(planner.path("plan.txt"), "first");
  const put = await planner.run(["put", "plan.txt", "--to", builder.agent.id]);
  assert.match(put.output, /^art_[0-9a-f]{32} {2}plan\.txt {2}5 B {2}for builder-/);
  assert.equal(put.errors, "", "no bar in a pipe");
  const download = ["inbox", "--download", "received"];
  const path = join("received", planner.agent.id, "plan.txt");
  assert.equal((await builder.run(download)).output, `${path}  5 B\n`);
  assert.equal((await builder.run(download)).output, `${path}  5 B  (already there)\n`);
  await writeFile(builder.path(path), "mine");
  const [again] = await builder.json<{ path: string; is_new: boolean }>(...download);
  assert.equal(again!.is_new, true);
  assert.match(again!.path, /plan\.[0-9a-f]{8}\.txt$/);
  assert.equal(await readFile(builder.path(path), "utf8"), "mine");
  assert.equal(await readFile(builder.path(again!.path), "utf8"), "first");
});

Deno.test("agentfiles inbox --download with a file whose bytes Storage has lost → the others all the same, then its error", async () => {
  await using planner = await Desk.of("planner");
  await using builder = await Desk.of("builder");
  for (const name of ["kept", "lost"]) {
    await writeFile(planner.path(name), name);
    const { code } = await planner.run(["put", name, "--to", builder.agent.id]);
    assert.equal(code, 0);
  }
  const [, lost] = await planner.json<{ artifact_id: string }>("ls");
  const name = `sealed/${lost!.artifact_id}/1`;
  const rename = (from: string, to: string) =>
    withStackDatabase((sql) => sql`update storage.objects set name = ${to} where name = ${from}`);
  await rename(name, `${name}.lost`);
  const downloaded = await builder.run(["inbox", "--download", "received"]);
  // The tests after this one look for such faults.
  await rename(`${name}.lost`, name);

  const { code, output, errors } = downloaded;
  const folder = join("received", planner.agent.id);
  assert.equal(output, `${join(folder, "kept")}  4 B\n`, errors);
  assert.deepEqual(await readdir(builder.path(folder)), ["kept"]);
  assert.match(errors, /^lost from planner-/);
  assert.equal(code, 6);
});

Deno.test("agentfiles share, unshare, ls, rm → each does what it says; a token only where asked for", async () => {
  await using planner = await Desk.of("planner");
  await using builder = await Desk.of("builder");
  await writeFile(planner.path("plan.txt"), "1");
  const put = ["put", "plan.txt", "--key", "plans/", "--to", builder.agent.id, "--json"];
  assert.doesNotMatch((await planner.run(put)).output, /g_|token/);
  const share = ["share", "plans/plan.txt", builder.agent.id];
  assert.equal("token" in (await planner.json<object>(...share))[0]!, false);
  const [shown] = await planner.json<{ token: string }>(...share, "--show-token");
  assert.match(shown!.token, /^g_/);
  assert.deepEqual(
    (await planner.json<{ key: string }>("ls")).map(({ key }) => key),
    ["plans/plan.txt"],
  );
  const [ended] = await planner.json<{ revoked: number }>("unshare", ...share.slice(1));
  assert.equal(ended!.revoked, 3);
  assert.equal((await planner.run(["rm", "plans/plan.txt"])).code, 0);
  assert.deepEqual(await planner.json("ls"), []);
});

Deno.test("agentfiles link, put --link → a link each, which works as often and as long as it was made for", async () => {
  await using planner = await Desk.of("planner");
  await writeFile(planner.path("plan.txt"), "how");
  const put = await planner.run(["put", "plan.txt", "--link", "--max-downloads", "1"]);
  const [, first = ""] = put.output.trimEnd().split("\n");
  const { output } = await planner.run(["link", "plan.txt"]);
  const link = output.trimEnd();
  for (const url of [first, link, link]) assert.equal(await (await fetch(url)).text(), "how");
  assert.equal((await fetch(first)).status, 410);

  const expires = "2099-12-31T18:00:00Z";
  const args = ["link", "plan.txt", "--expires", expires, "--max-downloads", "3"];
  const [made] = await planner.json<{ url: string; expires_at: string }>(...args);
  assert.equal(made!.expires_at, "2099-12-31T18:00:00.000Z");
  const [stored] = await planner.json<{ link: string; grants: unknown[] }>(
    "put",
    "plan.txt",
    "--link",
  );
  assert.match(stored!.link, /\/d\/g_/);
  assert.deepEqual(stored!.grants, []);
});

Deno.test("agentfiles get of a file that is there → refused, and it stays; with --force → replaced", async () => {
  await using planner = await Desk.of("planner");
  await writeFile(planner.path("plan.txt"), "put");
  await planner.run(["put", "plan.txt"]);
  await writeFile(planner.path("plan.txt"), "mine");
  const refused = await planner.run(["get", "plan.txt"]);
  assert.equal(refused.code, 2);
  assert.equal(await readFile(planner.path("plan.txt"), "utf8"), "mine");
  assert.equal((await planner.run(["get", "plan.txt", "--force"])).code, 0);
  assert.equal(await readFile(planner.path("plan.txt"), "utf8"), "put");
  const names = Array.from(Deno.readDirSync(planner.folder), ({ name }) => name);
  assert.deepEqual(names, ["plan.txt"], "no temporary file is left");
});

for (
  const [args, environment, code, says] of [
    [[], {}, 2, /^Usage: agentfiles <verb>/m],
    [["put"], {}, 2, /Name at least one file/],
    [["put", "x", "--colour"], {}, 2, /agentfiles put --help/],
    [["put", "x", "--max-downloads", "2"], {}, 2, /needs --link/],
    [["link"], {}, 2, /Name one file/],
    [["link", "x", "--max-downloads", "0"], {}, 2, /from 1 to 1000/],
    [["link", "x", "--ttl", "1", "--expires", "2099-01-01T00:00:00Z"], {}, 2, /not both/],
    [["link", "nothing"], {}, 4, /There is no such artifact/],
    [["mesh", "allow", "a", "b", "http"], {}, 2, /builder planner 443\/tcp/],
    [["ls"], { AGENT_KEY: "", AGENT_URL: "" }, 3, /agentfiles login/],
    [["ls"], { AGENT_KEY: "ak_unknown" }, 3, /agentfiles login/],
    [["get", "nothing"], {}, 4, /There is no such artifact/],
    [["put", "missing"], {}, 1, /ENOENT/],
  ] as const
) {
  Deno.test(`agentfiles ${args.join(" ")} ${JSON.stringify(environment)} → exit code ${code}`, async () => {
    await using planner = await Desk.of("planner");
    const { errors, output, ...result } = await planner.run(args, environment);
    assert.equal(result.code, code, errors);
    assert.match(errors, says);
    assert.equal(output, "");
  });
}

Deno.test("agentfiles put of a key that is refused, with --json → exit code 5, and the error as JSON", async () => {
  await using planner = await Desk.of("planner");
  await writeFile(planner.path("plan.txt"), "1");
  const { code, errors } = await planner.run(["put", "plan.txt", "--key", "../up", "--json"]);
  assert.equal(code, 5);
  assert.equal(JSON.parse(errors).error.code, "invalid_request");
});

Deno.test("agentfiles login → a file of mode 600; one that others can read → refused", async () => {
  await using planner = await Desk.of("planner");
  const { key, id } = planner.agent;
  const withoutVariables = { AGENT_KEY: "", AGENT_URL: "", AGENT_ID: "" };
  const login = ["login", "--url", SUPABASE_URL, "--agent", id];
  assert.equal((await planner.run(login, withoutVariables, `${key}\n`)).code, 0);
  const file = planner.path("settings/agentfiles/login.json");
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal((await planner.run(["ls"], withoutVariables)).code, 0);
  const elsewhere = { ...withoutVariables, AGENT_URL: "http://127.0.0.1:1" };
  const { code, errors } = await planner.run(["ls"], elsewhere);
  assert.equal(code, 3);
  assert.match(errors, /not for AGENT_URL/, "the key goes nowhere else");
  const refused = await planner.run(login, withoutVariables, "ak_unknown\n");
  assert.equal(refused.code, 3);
  assert.equal(JSON.parse(await readFile(file, "utf8")).key, key, "the old one stays");
  await chmod(file, 0o644);
  assert.match((await planner.run(["ls"], withoutVariables)).errors, /chmod 600/);
});

Deno.test("agentfiles mesh allow, requests, status, hosts, config → what the agent sees", async () => {
  await using planner = await Desk.of("planner");
  const { id, key } = planner.agent;
  const mesh = new AgentMesh({ url: SUPABASE_URL, key, agentId: id });
  const { addresses, name } = await mesh.register({
    pubkey: Buffer.from(crypto.getRandomValues(new Uint8Array(32)).fill(0x40, 31)).toString(
      "base64",
    ),
  });
  const rule = `other-${id} ${id} 443/tcp`;
  const put = await planner.run(["mesh", "allow", ...rule.split(" ")]);
  assert.equal(put.output, `The rule waits for other-${id} to agree.\n`);
  const requests = await planner.run(["mesh", "requests"]);
  assert.equal(requests.output, `other-${id}\tagentfiles mesh allow ${rule}\n`);
  assert.match((await planner.run(["mesh"])).output, /0 rules, 1 requests$/m);
  // Names are unique, and identifiers differ from them: in capitals, for example.
  const names = `${name}.mesh.internal ${name}`;
  const hosts = addresses.map((address) => `${address}\t${names}\n`).join("");
  assert.equal((await planner.run(["mesh", "hosts"])).output, hosts);
  const udp = await planner.run(["mesh", "allow", `other-${id}`, id, "53/udp"]);
  assert.equal(udp.output, `The rule waits for other-${id} to agree.\n`);
  assert.equal((await planner.run(["mesh", "config", "-o", "mesh0.conf"])).code, 0);
  assert.equal((await stat(planner.path("mesh0.conf"))).mode & 0o777, 0o600);
  const revoked = await planner.run(["mesh", "revoke", ...rule.split(" ")]);
  assert.equal(revoked.output, "The rule is revoked.\n");
});

Deno.test("agentfiles <verb> --help → an example each", async () => {
  await using planner = await Desk.of("planner");
  for (const verb of ["put", "get", "inbox", "mesh"]) {
    const { code, output } = await planner.run([verb, "--help"]);
    assert.equal(code, 0);
    assert.match(output, new RegExp(`Example:\n  agentfiles ${verb} `));
  }
});
