import { AgentFiles } from "../agent_files.ts";
import { AGENT_ID } from "../transfer/names.ts";
import { FileOperations } from "./file_operations.ts";
import { GrantOperations } from "./grant_operations.ts";
import { check, Refusal } from "./refusal.ts";
import { type Input, newId, Store } from "./store.ts";
import { TaskOperations } from "./task_operations.ts";

type Operation = (agent: string, input: Input) => object | Promise<object>;

const FUNCTION = "/functions/v1/agent-artifacts";
/** A name that never exists: what does not go through `fetch` of the service fails. */
const URL_OF_TESTS = "http://testing.invalid";
const LOOK_MILLISECONDS = 20;

/**
 * A service inside this process, for the tests of programs that use `AgentFiles`: files, grants and
 * tasks, without a database and without a network. What it lacks answers `not_in_testing`.
 *
 * @example
 * ```ts
 * const service = new InProcessService();
 * const [planner, builder] = [service.files("planner"), service.files("builder")];
 * await planner.put("plan", "how", { to: ["builder"] });
 * for await (const task of builder.tasks({ wait: false })) await task.done({ reply: "Built." });
 * ```
 */
export class InProcessService {
  /** The `url` for `AgentFiles`, with `key` and `fetch`. */
  readonly url: string = URL_OF_TESTS;
  /** Sends requests to this service, and to nothing else. */
  readonly fetch: typeof fetch = (input, init) => this.#answer(input, init);
  readonly #store = new Store();
  readonly #operations: Readonly<Record<string, readonly [fields: string, Operation]>>;

  constructor() {
    const store = this.#store;
    const files = new FileOperations(store, this.url);
    const grants = new GrantOperations(store, files);
    const tasks = new TaskOperations(store, grants);
    const pages = "agent_id limit cursor";
    const terms = "note reply_to max_attempts idempotency_key known_only";
    this.#operations = {
      "/register": [
        "agent_id key mime size ttl_days metadata",
        (agent, input) => files.register(agent, input),
      ],
      "/commit": ["artifact_id sha256", (agent, input) => files.commit(agent, input)],
      "/open": ["artifact_id key agent_id version", (agent, input) => files.open(agent, input)],
      "/list": [`prefix ${pages}`, (agent, input) => files.list(agent, input)],
      "/versions": [`key ${pages}`, (agent, input) => files.versions(agent, input)],
      "/delete": ["artifact_id", (agent, input) => files.delete(agent, input)],
      "/grant": [
        `artifact_id to_agent expires_at max_downloads ${terms}`,
        (agent, input) => grants.grant(agent, input),
      ],
      "/revoke": ["artifact_id to_agent grant_id", (agent, input) => grants.revoke(agent, input)],
      "/fetch": ["grant_token", (agent, input) => grants.fetch(agent, input)],
      "/grants": [`artifact_id to_agent ${pages}`, (agent, input) => grants.grants(agent, input)],
      "/inbox": [
        `from_agent after states wait_seconds ${pages}`,
        (agent, input) => grants.inbox(agent, input),
      ],
      "/wait": ["agent_id inbox_after wait_seconds", (agent, { inbox_after }) => {
        const { latest, found } = grants.newsFor(agent, inbox_after);
        const inbox = { changed: found.length > 0, latest };
        return { inbox, heartbeat_interval_seconds: 30 };
      }],
      "/inbox/take": [
        "agent_id max seconds prefix from_agent wait_seconds",
        (agent, input) => tasks.take(agent, input),
      ],
      "/inbox/extend": ["take_id seconds", (agent, input) => tasks.extend(agent, input)],
      "/inbox/done": [
        "agent_id take_id grant_id reply",
        (agent, input) => tasks.done(agent, input),
      ],
      "/inbox/fail": [
        "take_id reason retry_after_seconds final interrupted",
        (agent, input) => tasks.fail(agent, input),
      ],
      "/inbox/requeue": ["grant_id", (agent, input) => tasks.requeue(agent, input)],
      "/whoami": ["", (agent_id) => {
        return { kind: "agent", agent_id, key_id: null, expires_at: null, tags: [] };
      }],
    };
  }

  /** A new agent key of an agent. */
  key(agentId: string): string {
    check(AGENT_ID.test(agentId), "agent_id", "Cannot be an agent.");
    const key = newId("ak_");
    this.#store.keys.set(key, agentId);
    return key;
  }

  /** A client of an agent. */
  files(agentId: string): AgentFiles {
    return new AgentFiles({ url: this.url, key: this.key(agentId), fetch: this.fetch });
  }

  /** Moves the clock of the service, so that takes lapse, pauses end and files expire. */
  advance(seconds: number): void {
    this.#store.advance(seconds);
  }

  async #answer(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    const { signal, ...rest } = init ?? {};
    signal?.throwIfAborted();
    const request = new Request(input, rest);
    const { origin, pathname } = new URL(request.url);
    if (origin !== this.url) throw new TypeError(`Only ${this.url} is in this process.`);
    try {
      if (pathname.startsWith("/storage/")) return await this.#transfer(request, pathname.slice(9));
      return Response.json(await this.#call(request, pathname.replace(FUNCTION, ""), signal));
    } catch (error) {
      if (error instanceof Refusal) return error.answer();
      throw error;
    }
  }

  async #call(request: Request, path: string, signal?: AbortSignal | null): Promise<object> {
    const agent = this.#callerOf(request, path);
    const [fields, run] = this.#operations[path] ?? [];
    if (run === undefined) throw new Refusal("not_in_testing", `${path} is not in testing.`);
    const text = await request.text();
    const { wait_seconds = 0, ...input }: Input = text === "" ? {} : JSON.parse(text);
    for (const field of Object.keys(input)) {
      if (fields!.split(" ").includes(field)) continue;
      throw new Refusal("not_in_testing", `${field} of ${path} is not in testing.`);
    }
    const isOfOthers = path === "/open" || path === "/versions";
    if (!isOfOthers && (input.agent_id ?? agent) !== agent) throw new Refusal("forbidden");
    const until = Date.now() + wait_seconds * 1000;
    while (true) {
      const answer = await run(agent, input);
      if (Date.now() >= until || hasNews(answer)) return answer;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MILLISECONDS));
      signal?.throwIfAborted();
    }
  }

  #callerOf({ headers }: Request, path: string): string {
    if (path === "/fetch") return "";
    const [, key = ""] = /^Bearer (.*)$/.exec(headers.get("authorization") ?? "") ?? [];
    const agent = this.#store.keys.get(key);
    if (agent === undefined) throw new Refusal("unauthenticated", "The agent key is not known.");
    return agent;
  }

  /** An upload, or a download of some bytes, from where its range begins. */
  async #transfer(request: Request, artifactId: string): Promise<Response> {
    const file = this.#store.files.get(artifactId);
    if (file === undefined) throw new Refusal("not_found");
    if (request.method === "PUT") {
      if (file.artifact.state === "pending") {
        file.bytes = new Uint8Array(await request.arrayBuffer());
      }
      return Response.json({});
    }
    const start = Number(/^bytes=(\d+)-$/.exec(request.headers.get("range") ?? "")?.[1] ?? 0);
    return new Response(file.bytes!.subarray(start), { status: start > 0 ? 206 : 200 });
  }
}

/** Whether an answer ends a wait. */
function hasNews({ grants, tasks, inbox }: Input): boolean {
  return (grants ?? tasks)?.length > 0 || inbox?.changed === true;
}
