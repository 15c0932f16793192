/**
 * Several processes that are one agent: on one host, as gunicorn, celery and Node's cluster start
 * them, and on several. The workers here are forked and started as these programs do it.
 */
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import {
  endMadeEnrolments,
  newName,
  put,
} from "../../../../tests/conformance/enrolment/enrolments.ts";
import { Issuer } from "../../../../tests/conformance/enrolment/issuer.ts";
import { generationOf } from "./cast.ts";
import { CLUSTER_WORKER, newHost } from "./hosts.ts";

Deno.test.afterEach(endMadeEnrolments);

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
            files._connection.credential._renew_at = 0
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
    kind: "trust",
    issuer: issuer.url,
    audience: "us",
    jwks: issuer.jwks as never,
    conditions: [{ claim: "sub", prefix: "new-run-" }],
    agent_template: "{sub}",
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
