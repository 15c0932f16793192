/** What an agent sends to the service: its registration, heartbeats, and the wait for news. */
import type { SentPath, SentRefusal } from "../../../../agent-peer/service.ts";
import type { Log } from "../basics/log.ts";
import type { Overlap } from "../wanted/overlaps.ts";
import { isInteger } from "../wanted/values.ts";
import type { Answered, Requests } from "./requests.ts";
import { FORGET, type Rhythm } from "./rhythm.ts";

/** The most endpoints of one agent. */
const MOST_ENDPOINTS = 4;

/** What the service has to know of this host. */
export interface Registration {
  readonly publicKey: string;
  /** Where other hosts reach the tunnel itself; null behind NAT. */
  readonly endpoint: string | null;
  /** The endpoints of the part that seeks paths. */
  readonly further: readonly string[];
  /** The port of the tunnel, if it is not the first endpoint's; null: unknown. */
  readonly listenPort: number | null;
}

export interface LinkOptions {
  readonly requests: Requests;
  readonly rhythm: Rhythm;
  readonly agentId: string | undefined;
  readonly log: Log;
  /** Looks after this host while a request waits. Resolves to whether to cut the request. */
  readonly meanwhile: (answer: Promise<unknown>) => Promise<boolean>;
  /** What is to be told about the paths to the peers. Called once for each heartbeat. */
  readonly paths: () => readonly SentPath[];
  /** The network of this host that keeps its tunnel down, for its neighbours and the operator. */
  readonly overlap: () => Pick<Overlap, "network"> | null;
  /** What peers tried without a rule since the last call. */
  readonly refused: () => Promise<readonly SentRefusal[]>;
}

/** Why a round with the service ended early. */
export class Unanswered extends Error {
  override readonly name = "Unanswered";

  constructor(readonly answered: Answered) {
    super(`status ${answered.status}`);
  }
}

export class ServiceLink {
  readonly #options: LinkOptions;
  #registered: string | null = null;
  /** The further endpoints that the service refused. */
  #refused: string | null = null;
  #waitMissingUntil = 0;
  /** Whether the service accepts path reports. */
  takesPaths = true;
  #takesProblems = true;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  isRegistered(registration: Registration): boolean {
    return this.#registered === this.#keyOf(registration);
  }

  /** Throws Unanswered. */
  async register(registration: Registration): Promise<readonly string[]> {
    const { publicKey, endpoint, listenPort } = registration;
    const further = this.#accepted(registration);
    const [first = null, ...rest] = [...(endpoint === null ? [] : [endpoint]), ...further]
      .slice(0, MOST_ENDPOINTS);
    const answered = await this.#post("/peer/register", {
      pubkey: publicKey,
      endpoint: first,
      ...(rest.length > 0 && { endpoints: [first, ...rest] }),
      ...(listenPort !== null && { listen_port: listenPort }),
    });
    if (answered.status === 422 && further.length > 0) {
      // The tunnel matters more than these endpoints.
      this.#options.log("the endpoints of the part that seeks paths are refused; leaving them out");
      this.#refused = further.join(" ");
      return await this.register(registration);
    }
    if (answered.status !== 200) throw this.#failure("/peer/register", answered);
    this.#registered = this.#keyOf(registration);
    const { addresses } = (answered.body ?? {}) as { addresses?: unknown };
    return Array.isArray(addresses) ? addresses.map(String) : [];
  }

  /**
   * Reports the running version, and waits for another one if `mayWait`. Resolves to the version
   * that should run. Throws Unanswered, or an Error for an answer without a version.
   */
  async heartbeat(applied: number | null, mayWait: boolean): Promise<number> {
    const { rhythm, log, paths, overlap } = this.#options;
    const now = performance.now() / 1000;
    rhythm.hasWait = now >= this.#waitMissingUntil;
    const problem = this.#takesProblems ? problemOf(overlap()) : null;
    const refused = await this.#options.refused();
    // Only heartbeats tell these.
    const path = rhythm.hasWait && problem === null && refused.length === 0
      ? "/wait"
      : "/peer/heartbeat";
    const waitSeconds = applied !== null && mayWait ? rhythm.waitSeconds(now) : 0;
    rhythm.heartbeatBegins(waitSeconds);
    const reported = paths();
    const report = this.takesPaths && reported.length > 0 ? reported : null;
    const answered = await this.#post(path, {
      ...(applied !== null && { config_version: applied }),
      ...(waitSeconds > 0 && { wait_seconds: waitSeconds }),
      ...(report !== null && { paths: report }),
      ...(problem !== null && { problem }),
      ...(refused.length > 0 && { refused }),
    }, waitSeconds);
    if (answered.status === 200) return this.#versionOf(answered, { path, waitSeconds, applied });
    // The service had waited until then.
    if (answered.wasCut) rhythm.hasWaited();
    else if (answered.status === 404 && path === "/wait" && codeOf(answered) === "not_found") {
      log("this service has no /wait; sending heartbeats instead");
      this.#waitMissingUntil = now + FORGET;
      return await this.heartbeat(applied, mayWait);
    } else if (answered.status === 422 && problem !== null) {
      log("this service accepts no reports of problems; not sending them");
      this.#takesProblems = false;
      return await this.heartbeat(applied, mayWait);
    } else if (answered.status === 422 && report !== null) {
      log("this service accepts no path reports; not sending them");
      this.takesPaths = false;
      return await this.heartbeat(applied, mayWait);
    } else {
      // The operator removed this peer. Register it again: it comes back without a rule.
      if (answered.status === 404) this.#registered = null;
      if (waitSeconds > 0) rhythm.waitFailed(performance.now() / 1000, answered);
    }
    throw this.#failure(path, answered);
  }

  /** The answer of /wg_config. Throws Unanswered. */
  async configuration(): Promise<unknown> {
    const answered = await this.#post("/wg_config", { format: "json" });
    if (answered.status !== 200) throw this.#failure("/wg_config", answered);
    return answered.body;
  }

  /** Has this host registered again, even if nothing has changed. */
  forgetRegistration(): void {
    this.#registered = null;
  }

  #versionOf(
    answered: Answered,
    { path, waitSeconds, applied }: {
      readonly path: string;
      readonly waitSeconds: number;
      readonly applied: number | null;
    },
  ): number {
    const { rhythm, log } = this.#options;
    const { config_version: version, heartbeat_interval_seconds: asked } =
      (answered.body ?? {}) as Record<string, unknown>;
    if (path === "/wait" && asked !== undefined && version === undefined) {
      // Complete, except for the version. An answer of something on the way does not count.
      log(`${path}: this agent has no peer`);
      this.#registered = null;
      throw new Unanswered({ ...answered, status: 404 });
    }
    if (!isInteger(version, 0, Number.MAX_SAFE_INTEGER)) {
      throw new Error("the answer has no config_version");
    }
    if (isInteger(asked, 1, 9999)) rhythm.heartbeatSeconds = asked;
    // News may come at once, but not every time.
    const expected = version === applied ? waitSeconds - 1 : 1;
    if (waitSeconds > 0 && answered.seconds >= expected) rhythm.hasWaited();
    return version;
  }

  #post(path: string, body: object, waitSeconds = 0): Promise<Answered> {
    const { requests, agentId, meanwhile } = this.#options;
    const self = agentId === undefined ? {} : { agent_id: agentId };
    const options = waitSeconds > 0 ? { waitSeconds, meanwhile } : {};
    return requests.post(path, { ...self, ...body }, options);
  }

  #failure(path: string, answered: Answered): Unanswered {
    if (!answered.wasCut) this.#options.requests.logRefusal(path, answered);
    return new Unanswered(answered);
  }

  #accepted({ further }: Registration): readonly string[] {
    return further.join(" ") === this.#refused ? [] : further;
  }

  #keyOf(registration: Registration): string {
    const { publicKey, endpoint } = registration;
    return JSON.stringify([publicKey, endpoint, this.#accepted(registration)]);
  }
}

/** The service takes only IPv4 networks. */
function problemOf(overlap: Pick<Overlap, "network"> | null): object | null {
  if (overlap === null) return null;
  const { network } = overlap;
  return { code: "network_taken", network: network.includes(":") ? null : network };
}

export function codeOf({ body }: Answered): unknown {
  return ((body ?? {}) as { error?: { code?: unknown } }).error?.code;
}
