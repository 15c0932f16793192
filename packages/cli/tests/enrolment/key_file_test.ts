/** Files in which the processes of one host share an agent key. */
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { SUPABASE_URL } from "../../../../tests/conformance/client.ts";
import {
  endMadeEnrolments,
  newName,
  put,
} from "../../../../tests/conformance/enrolment/enrolments.ts";
import { Issuer } from "../../../../tests/conformance/enrolment/issuer.ts";
import { generationOf } from "./cast.ts";
import { CLUSTER_WORKER, IN_PYTHON, newHost } from "./hosts.ts";

Deno.test.afterEach(endMadeEnrolments);

Deno.test("a key file that is named, of a Python and a TypeScript program → one enrolment for both; readable by others → refused", async () => {
  await using ends = new AsyncDisposableStack();
  const host = await newHost(ends);
  const { enrolment_key } = await put({ uses_left: null });
  const name = newName("vm");
  const file = join(host.folder, "run", "agent.json");
  const inPython = () =>
    host.python(
      `
import json, os
from agent_files import AgentError, AgentFiles
files = AgentFiles(os.environ["URL"], enrol=json.loads(os.environ["ENROL"]))
try:
    print(files.whoami()["agent_id"])
except AgentError as error:
    print(error.code)
`,
      { ENROL: JSON.stringify({ enrolment_key, agent_name: name, key_file: file }) },
    );
  const inTypescript = () =>
    host.typescript(CLUSTER_WORKER, {
      ENROL: JSON.stringify({ enrolmentKey: enrolment_key, agentName: name, keyFile: file }),
    });
  assert.equal((await inPython()).output.trim(), name);
  assert.equal((await inTypescript()).output.trim().split("\n").at(-1), name);
  assert.equal(await generationOf(name), 1);
  assert.equal((await Deno.stat(file)).mode! & 0o777, 0o600);
  await Deno.chmod(file, 0o640);
  assert.equal((await inPython()).output.trim(), "key_unavailable");
  assert.match((await inTypescript()).output, /chmod 600/);
  assert.equal(await generationOf(name), 1);
});

Deno.test("a key file that has the agent key of another name, proof or instance, or of another service → key_unavailable, and the file and its agent stay", async () => {
  await using ends = new AsyncDisposableStack();
  const host = await newHost(ends);
  const [{ enrolment_key }, other] = [
    await put({ uses_left: null, max_instances: 2 }),
    await put({ uses_left: null }),
  ];
  const [name, file] = [newName("vm"), join(host.folder, "agent.json")];
  const own = { enrolment_key, agent_name: name, key_file: file };
  const inPython = (enrol: object, url = SUPABASE_URL) =>
    host.python(IN_PYTHON, { ENROL: JSON.stringify(enrol), URL: url });
  assert.equal((await inPython(own)).output.trim(), name);
  const before = await Deno.readTextFile(file);
  const asked: string[] = [];
  await using elsewhere = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    ({ headers }) => {
      asked.push(headers.get("authorization") ?? "");
      return new Response(null, { status: 404 });
    },
  );
  const foreign = `http://127.0.0.1:${elsewhere.addr.port}`;
  for (
    const [enrol, url] of [
      [{ ...own, agent_name: newName("vm") }],
      [{ ...own, enrolment_key: other.enrolment_key }],
      [{ ...own, instance: "second" }],
      [own, foreign],
    ] as const
  ) {
    const python = await inPython(enrol, url);
    assert.match(python.output, /has the agent key of another/);
    const { enrolment_key: enrolmentKey, agent_name: agentName, key_file: keyFile, ...more } =
      enrol as typeof own;
    const typescript = await host.typescript(CLUSTER_WORKER, {
      ENROL: JSON.stringify({ enrolmentKey, agentName, keyFile, ...more }),
      ...(url !== undefined && { URL: url }),
    });
    assert.match(typescript.output, /has the agent key of another/);
  }
  assert.deepEqual(asked, []);
  assert.equal(await Deno.readTextFile(file), before);
  assert.equal((await inPython(own)).output.trim(), name);
  assert.equal(await generationOf(name), 1);
});

Deno.test("a Python and a TypeScript program with the same proof → one enrolment for both, by the default key file", async () => {
  await using ends = new AsyncDisposableStack();
  const host = await newHost(ends);
  const { enrolment_key } = await put({ uses_left: null });
  const issuer = await Issuer.create(`https://${newName("issuer")}.example.com`);
  const { enrolment_id } = await put({
    kind: "trust",
    issuer: issuer.url,
    audience: "us",
    jwks: issuer.jwks as never,
    conditions: [{ claim: "sub", prefix: "new-run-" }],
    agent_template: "{sub}",
  });
  const [vm, sub] = [newName("vm"), newName("run")];
  const claims = {
    aud: ["us"],
    sub,
    pod: { name: "Größe/\u{1f511}\t", jti: "x" },
    nested: [1, null],
  };
  const tokens = [
    await issuer.sign({ ...claims, jti: "1" }),
    await issuer.sign(Object.fromEntries(Object.entries({ ...claims, jti: "2" }).reverse())),
  ];
  const proofs = [
    [vm, { enrolment_key, agent_name: vm }, { agentName: vm, enrolmentKey: enrolment_key }],
    [sub, { enrolment_id, token: tokens[0] }, { token: tokens[1], enrolmentId: enrolment_id }],
  ] as const;
  for (const [name, inPython, inTypescript] of proofs) {
    const { output } = await host.python(IN_PYTHON, { ENROL: JSON.stringify(inPython) });
    assert.equal(output.trim(), name);
    const other = await host.typescript(CLUSTER_WORKER, { ENROL: JSON.stringify(inTypescript) });
    assert.equal(other.output.trim().split("\n").at(-1), name);
    assert.equal(await generationOf(name), 1);
  }
});

Deno.test("a key file that cannot be written, here a folder → the process enrols by itself, and leaves no key behind", async () => {
  await using ends = new AsyncDisposableStack();
  const host = await newHost(ends);
  const { enrolment_key } = await put({ uses_left: null });
  const name = newName("vm");
  const file = join(host.folder, "agent.json");
  await mkdir(file);
  const proof = { enrolment_key, agent_name: name, key_file: file };
  assert.equal(
    (await host.python(IN_PYTHON, { ENROL: JSON.stringify(proof) })).output.trim(),
    name,
  );
  const { output } = await host.typescript(CLUSTER_WORKER, {
    ENROL: JSON.stringify({ enrolmentKey: enrolment_key, agentName: name, keyFile: file }),
  });
  assert.equal(output.trim().split("\n").at(-1), name);
  assert.deepEqual(Array.from(Deno.readDirSync(host.folder), ({ name }) => name), ["agent.json"]);
});

Deno.test("a default folder that others can write to, or that cannot be made → each process enrols by itself, and works", async () => {
  await using ends = new AsyncDisposableStack();
  const host = await newHost(ends);
  const { enrolment_key: enrolmentKey } = await put({ uses_left: null });
  const open = join(host.folder, `agentfiles-${Deno.uid()}`);
  await mkdir(open);
  await Deno.chmod(open, 0o777);
  for (const XDG_RUNTIME_DIR of [host.folder, "/proc/none"]) {
    const agentName = newName("vm");
    const { code, output } = await host.typescript(CLUSTER_WORKER, {
      XDG_RUNTIME_DIR,
      ENROL: JSON.stringify({ enrolmentKey, agentName }),
    });
    assert.deepEqual([code, output.trim().split("\n").at(-1)], [0, agentName]);
  }
  assert.deepEqual([...Deno.readDirSync(open)], []);
});
