/**
 * Several processes that are one agent: on one host, as gunicorn, celery and Node's cluster start
 * them, and on several. The workers here are forked and started as these programs do it.
 */
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { endMadeEnrolments, newName, put } from "../../conformance/enrolment/enrolments.ts";
import { SUPABASE_URL } from "../../conformance/client.ts";
import { Issuer } from "../../conformance/enrolment/issuer.ts";
import { generationOf } from "./cast.ts";

const PROJECT = new URL("../../../", import.meta.url).pathname;

Deno.test.afterEach(endMadeEnrolments);

interface Run {
  readonly code: number;
  readonly output: string;
}

async function run(
  program: string,
  args: readonly string[],
  environment: Record<string, string>,
): Promise<Run> {
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args: [...args],
    env: {
      URL: SUPABASE_URL,
      PYTHONPATH: join(PROJECT, "clients/python"),
      PYTHONDONTWRITEBYTECODE: "1",
      ...environment,
    },
    stdin: "null",
  }).output();
  const text = new TextDecoder();
  return { code, output: text.decode(stdout) + text.decode(stderr) };
}

/** A host: processes share its folder for what lasts until a restart. */
async function newHost(ends: AsyncDisposableStack, environment: Record<string, string> = {}) {
  const folder = await Deno.makeTempDir();
  ends.defer(() => Deno.remove(folder, { recursive: true }));
  const shared = { XDG_RUNTIME_DIR: folder, ...environment };
  return {
    folder,
    python: (script: string, more: Record<string, string> = {}) =>
      run("python3", ["-c", script], { ...shared, ...more }),
    typescript: (script: string, more: Record<string, string> = {}) =>
      run(Deno.execPath(), ["eval", "--no-check", script], { ...shared, ...more }),
  };
}

/** Makes the renewal of each key file of this host due, as after 80 % of the key's life. */
const MAKE_DUE = `
def make_due():
    for folder, _, names in os.walk(os.environ["XDG_RUNTIME_DIR"]):
        for name in names:
            if name.endswith(".json"):
                with open(os.path.join(folder, name), "r+") as file:
                    shared = json.load(file)
                    file.seek(0)
                    file.truncate()
                    json.dump({**shared, "renew_at": 0}, file)
`;

/**
 * Four workers that use the agent, renew their key three times at once, and print what they were
 * answered. \`{made}\`: where the client is made: before or after the fork.
 */
function preforked(made: "preloaded and used" | "preloaded" | "by each worker"): string {
  const make = `files = AgentFiles(os.environ["URL"], enrol=json.loads(os.environ["ENROL"]))`;
  return `
import json, multiprocessing, os, sys, time
from agent_files import AgentError, AgentFiles
${MAKE_DUE}
context = multiprocessing.get_context("fork")
barrier = context.Barrier(4)
${made === "by each worker" ? "" : make}
${made === "preloaded and used" ? "files.whoami()" : ""}
def work(number):
    ${made === "by each worker" ? make : "pass"}
    said = []
    def ask():
        try:
            said.append(files.whoami()["agent_id"])
        except AgentError as error:
            said.append(error.code)
    for round in range(4):
        if round > 0:
            barrier.wait()
            if number == 0:
                make_due()
            files._credential._renew_at = 0
        barrier.wait()
        ask()
        # The others have renewed by now: this worker's key may have ended.
        barrier.wait()
        ask()
    sys.stdout.write(json.dumps(said) + "\\n")
    sys.stdout.flush()
${made === "by each worker" ? "" : "globals()['files'] = files"}
workers = [context.Process(target=work, args=(number,)) for number in range(4)]
for worker in workers: worker.start()
for worker in workers: worker.join()
`;
}

for (const made of ["preloaded and used", "preloaded", "by each worker"] as const) {
  Deno.test(`four forked Python workers, the client ${made}, renew their key three times at once → one agent, one enrolment for each renewal, nobody superseded`, async () => {
    await using ends = new AsyncDisposableStack();
    const host = await newHost(ends);
    const { enrolment_key } = await put({ uses_left: null });
    const name = newName("vm");
    const { code, output } = await host.python(preforked(made), {
      ENROL: JSON.stringify({ enrolment_key, agent_name: name }),
    });
    assert.equal(code, 0, output);
    const said = output.trim().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(said, Array(4).fill(Array(8).fill(name)));
    assert.equal(await generationOf(name), 4);
  });
}

/** As one of the workers that Node's cluster starts: the same script, in a process of its own. */
const CLUSTER_WORKER = `
const { AgentFiles } = await import("${PROJECT}clients/typescript/src/index.ts");
const enrol = JSON.parse(Deno.env.get("ENROL"));
const files = new AgentFiles({ url: Deno.env.get("URL"), enrol });
for (let round = 0; round < 5; round++) console.log((await files.whoami()).agent_id);
`;

Deno.test("four processes of one service in TypeScript, started at once as Node's cluster does → one agent, enrolled once; started again → not enrolled again", async () => {
  await using ends = new AsyncDisposableStack();
  const host = await newHost(ends);
  const { enrolment_key: enrolmentKey } = await put({ uses_left: null });
  const agentName = newName("vm");
  const ENROL = JSON.stringify({ enrolmentKey, agentName });
  for (const _ of ["first", "again"]) {
    const workers = await Promise.all(
      Array.from({ length: 4 }, () => host.typescript(CLUSTER_WORKER, { ENROL })),
    );
    for (const { code, output } of workers) {
      assert.deepEqual([code, output.trim().split("\n")], [0, Array(5).fill(agentName)]);
    }
  }
  assert.equal(await generationOf(agentName), 1);
});

Deno.test("processes with tokens of one subject → they share the key; with those of another subject → another agent", async () => {
  await using ends = new AsyncDisposableStack();
  const host = await newHost(ends);
  const issuer = await Issuer.create(`https://${newName("issuer")}.example.com`);
  await put({
    ...{ kind: "trust", issuer: issuer.url, audience: "us", jwks: issuer.jwks as never },
    ...{ conditions: [{ claim: "sub", prefix: "new-run-" }], agent_template: "{sub}" },
  });
  const [one, other] = [newName("run"), newName("run")];
  for (const [sub, jti] of [[one, "1"], [one, "2"], [other, "3"]] as const) {
    const token = await issuer.sign({ aud: "us", sub, jti });
    const { code, output } = await host.typescript(CLUSTER_WORKER, {
      ENROL: JSON.stringify({ token }),
    });
    assert.deepEqual([code, output.trim().split("\n").at(-1)], [0, sub]);
  }
  assert.deepEqual([await generationOf(one), await generationOf(other)], [1, 1]);
});

Deno.test("two containers of a pod, each an instance → both work on when either of them enrols again", async () => {
  await using ends = new AsyncDisposableStack();
  const { enrolment_key } = await put({ uses_left: null, max_instances: 2 });
  const [web, sidecar] = [await newHost(ends), await newHost(ends)];
  const agent_name = newName("pod");
  const script = `
import json, os
from agent_files import AgentFiles
files = AgentFiles(os.environ["URL"], enrol=json.loads(os.environ["ENROL"]))
print(files.whoami()["agent_id"])
`;
  const ask = (host: typeof web, instance: string) =>
    host.python(script, { ENROL: JSON.stringify({ enrolment_key, agent_name, instance }) });
  for (let round = 0; round < 2; round++) {
    for (const [host, instance] of [[web, "web"], [sidecar, "sidecar"]] as const) {
      const { code, output } = await ask(host, instance);
      assert.deepEqual([code, output.trim()], [0, agent_name]);
    }
    // The container starts again: its folder is empty.
    await Deno.remove(web.folder, { recursive: true });
    await mkdir(web.folder);
  }
});

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

const IN_PYTHON = `
import json, os
from agent_files import AgentFiles
print(AgentFiles(os.environ["URL"], enrol=json.loads(os.environ["ENROL"])).whoami()["agent_id"])
`;

Deno.test("a Python and a TypeScript program with the same proof → one enrolment for both, by the default key file", async () => {
  await using ends = new AsyncDisposableStack();
  const host = await newHost(ends);
  const { enrolment_key } = await put({ uses_left: null });
  const issuer = await Issuer.create(`https://${newName("issuer")}.example.com`);
  const { enrolment_id } = await put({
    ...{ kind: "trust", issuer: issuer.url, audience: "us", jwks: issuer.jwks as never },
    ...{ conditions: [{ claim: "sub", prefix: "new-run-" }], agent_template: "{sub}" },
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
      ...{ XDG_RUNTIME_DIR, ENROL: JSON.stringify({ enrolmentKey, agentName }) },
    });
    assert.deepEqual([code, output.trim().split("\n").at(-1)], [0, agentName]);
  }
  assert.deepEqual([...Deno.readDirSync(open)], []);
});
