/**
 * Gunicorn's and celery's own workers, which are one agent: does each of them still work after the
 * agent key was renewed?
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  interpreter,
  PYTHON_ENVIRONMENT,
  PYTHON_PACKAGE,
} from "../../../clients/python/tests/interpreter.ts";
import { freePort } from "../../../packages/local/processes/free_port.ts";
import { generationOf } from "../../../packages/cli/tests/enrolment/cast.ts";
import { SUPABASE_URL } from "../../conformance/client.ts";
import { endMadeEnrolments, newName, put } from "../../conformance/enrolment/enrolments.ts";

const PACKAGES = ["gunicorn==27.0.1", "celery==5.7.0"];
const WORKERS = 4;
const RENEWALS = 3;

/** Answers who the agent is, and which worker asked; `renew`: as after 80 % of the key's life. */
const AGENT = `
import json, os
from agent_files import AgentError, AgentFiles
files = AgentFiles(os.environ["URL"], enrol=json.loads(os.environ["ENROL"]))
def ask(renew):
    if renew:
        files._connection.credential._renew_at = 0
    try:
        said = files.whoami()["agent_id"]
    except AgentError as error:
        said = error.code
    return {"worker": os.getpid(), "said": said}
`;

const GUNICORN_APP = `${AGENT}
def app(environ, start_response):
    start_response("200 OK", [("content-type", "application/json"), ("connection", "close")])
    return [json.dumps(ask(environ["PATH_INFO"] == "/renew")).encode()]
`;

const CELERY_APP = `${AGENT}
import time
from celery import Celery
folder = os.environ["XDG_RUNTIME_DIR"]
for name in ("queue", "results"):
    os.makedirs(os.path.join(folder, name), exist_ok=True)
queue = os.path.join(folder, "queue")
celery = Celery("celery_app", broker="filesystem://", backend="file://" + folder + "/results")
celery.conf.broker_transport_options = {"data_folder_in": queue, "data_folder_out": queue}
celery.conf.worker_prefetch_multiplier = 1
@celery.task(name="ask_agent")
def ask_agent(renew):
    # Long enough that every worker gets a task.
    time.sleep(0.2)
    return ask(renew)
`;

/** Sends tasks to celery's workers, and prints what they answered. */
const CELERY_CALLER = `
import json, os, sys
from celery_app import ask_agent
renew = sys.argv[1] == "renew"
answers = [ask_agent.delay(renew) for _ in range(12)]
print(json.dumps([answer.get(timeout=60) for answer in answers]))
`;

interface Said {
  readonly worker: number;
  readonly said: string;
}

interface Host {
  readonly folder: string;
  readonly name: string;
  command(args: readonly string[], output?: "null"): Deno.Command;
}

async function newHost(ends: AsyncDisposableStack): Promise<Host> {
  const folder = await Deno.makeTempDir();
  ends.defer(() => Deno.remove(folder, { recursive: true }));
  const site = join(folder, "site");
  const { enrolment_key } = await put({ uses_left: null });
  const name = newName("vm");
  const python = await interpreter();
  const command = (args: readonly string[], output: "null" | "piped" = "piped") =>
    new Deno.Command(python, {
      args: [...args],
      cwd: folder,
      env: {
        ...PYTHON_ENVIRONMENT,
        PYTHONPATH: [folder, site, PYTHON_PACKAGE].join(":"),
        XDG_RUNTIME_DIR: folder,
        URL: SUPABASE_URL,
        ENROL: JSON.stringify({ enrolment_key, agent_name: name }),
      },
      stdin: "null",
      stdout: output,
      stderr: output,
    });
  const pip = ["-m", "pip", "install", "--quiet", "--target", site, ...PACKAGES];
  const { success, stderr } = await new Deno.Command("python3", { args: pip, stdout: "null" })
    .output();
  assert.ok(success, new TextDecoder().decode(stderr));
  await writeFile(join(folder, "gunicorn_app.py"), GUNICORN_APP);
  await writeFile(join(folder, "celery_app.py"), CELERY_APP);
  return { folder, name, command };
}

/** Starts a server, which ends with the test. */
function start({ command }: Host, args: readonly string[], ends: AsyncDisposableStack): void {
  const server = command(args, "null").spawn();
  ends.defer(async () => {
    server.kill("SIGTERM");
    await server.status;
  });
}

/** Makes the renewal of the shared key due. */
async function makeDue({ folder }: Host): Promise<void> {
  const keys = join(folder, `agentfiles-${Deno.uid()}`);
  for await (const { name } of Deno.readDir(keys)) {
    if (!name.endsWith(".json")) continue;
    const file = join(keys, name);
    const shared = JSON.parse(await readFile(file, "utf8"));
    await writeFile(file, JSON.stringify({ ...shared, renew_at: 0 }));
  }
}

/** Has each worker ask, renew and ask again. */
async function renewAgainAndAgain(
  host: Host,
  askAll: (path: "ask" | "renew") => Promise<readonly Said[]>,
): Promise<void> {
  await askAll("ask");
  for (let renewal = 0; renewal < RENEWALS; renewal++) {
    await makeDue(host);
    for (const path of ["renew", "ask"] as const) {
      const answers = await askAll(path);
      assert.deepEqual(new Set(answers.map(({ said }) => said)), new Set([host.name]));
    }
  }
  assert.equal(await generationOf(host.name), 1 + RENEWALS);
}

Deno.test.afterEach(endMadeEnrolments);

for (const more of [[], ["--preload"]]) {
  Deno.test(`gunicorn ${more.join(" ")} with ${WORKERS} workers, whose agent key is renewed ${RENEWALS} times → every worker is the agent, and one enrols each time`, async () => {
    await using ends = new AsyncDisposableStack();
    const host = await newHost(ends);
    const port = await freePort();
    const bind = `127.0.0.1:${port}`;
    start(host, [
      "-m",
      "gunicorn",
      "-w",
      String(WORKERS),
      "-b",
      bind,
      ...more,
      "gunicorn_app:app",
    ], ends);
    const ask = async (path: string): Promise<Said | null> => {
      const answer = await fetch(`http://${bind}/${path}`).catch(() => null);
      return answer?.ok ? await answer.json() : null;
    };
    await renewAgainAndAgain(host, async (path) => {
      const answers = new Map<number, Said>();
      while (answers.size < WORKERS) {
        const said = await Promise.all(Array.from({ length: WORKERS }, () => ask(path)));
        for (const one of said) if (one !== null) answers.set(one.worker, one);
      }
      return [...answers.values()];
    });
  });
}

Deno.test(`celery with ${WORKERS} prefork workers, whose agent key is renewed ${RENEWALS} times → every worker is the agent, and one enrols each time`, async () => {
  await using ends = new AsyncDisposableStack();
  const host = await newHost(ends);
  await writeFile(join(host.folder, "caller.py"), CELERY_CALLER);
  start(host, [
    "-m",
    "celery",
    "-A",
    "celery_app:celery",
    "worker",
    "--pool",
    "prefork",
    "--concurrency",
    String(WORKERS),
    "--without-mingle",
    "--without-gossip",
  ], ends);
  await renewAgainAndAgain(host, async (path) => {
    const { success, stdout, stderr } = await host.command(["caller.py", path]).output();
    assert.ok(success, new TextDecoder().decode(stderr));
    const answers: Said[] = JSON.parse(new TextDecoder().decode(stdout));
    assert.ok(new Set(answers.map(({ worker }) => worker)).size > 1, "one worker did everything");
    return answers;
  });
});
