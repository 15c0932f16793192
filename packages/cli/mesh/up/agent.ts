/** Keeps a host in the mesh: decides when to ask the service, and when to look after the host. */
import { pause } from "../../../agent-peer/platform.ts";
import type { LocalHost } from "./host/local_host.ts";
import type { Log } from "./basics/log.ts";
import { codeOf, ServiceLink, Unanswered } from "./service/link.ts";
import type { Requests } from "./service/requests.ts";
import { Rhythm } from "./service/rhythm.ts";
import { accept } from "./wanted/accept.ts";

/** How often the host is checked, in milliseconds. */
const LOOK = 10_000;
/** How often the file of the part that seeks paths is read meanwhile. */
const GLANCE = 1000;

export interface AgentOptions {
  readonly host: LocalHost;
  readonly requests: Requests;
  readonly agentId: string | undefined;
  readonly pollSeconds: number | null;
  readonly log: Log;
  readonly signal: AbortSignal;
}

export class Agent {
  readonly #options: AgentOptions;
  readonly #rhythm: Rhythm;
  readonly #link: ServiceLink;
  /** Why the last round failed; null if it did not. */
  trouble: string | null = null;
  /** The status of the last failed answer; 0 if there was none. */
  #status = 0;
  /**
   * Whether this host has registered since it last applied a configuration. It then reports no
   * version, so that the configuration is fetched again.
   */
  #isFresh = true;

  constructor(options: AgentOptions) {
    const { requests, agentId, pollSeconds, log, host } = options;
    this.#options = options;
    this.#rhythm = new Rhythm(pollSeconds);
    this.#link = new ServiceLink({
      requests,
      rhythm: this.#rhythm,
      agentId,
      log,
      meanwhile: (answer) => this.#meanwhile(answer),
      paths: () => host.takeReport(),
      overlap: () => host.tunnel.overlap,
      refused: () => host.tunnel.firewall.takeRefused(),
    });
  }

  /** Runs until the signal is aborted. */
  async run(): Promise<void> {
    const { signal, log } = this.#options;
    let wasCut = false;
    let cutAt = -Infinity;
    while (!signal.aborted) {
      // If this check has just ended a request, do not repeat it.
      if (!wasCut) await this.#look();
      let seconds: number;
      try {
        await this.#meet();
        wasCut = false;
        this.#rhythm.failures = 0;
        this.trouble = null;
        seconds = this.#rhythm.pauseSeconds(performance.now() / 1000);
      } catch (error) {
        if (signal.aborted) return;
        const answered = error instanceof Unanswered ? error.answered : null;
        wasCut = answered?.wasCut ?? false;
        if (wasCut) {
          // Pause if the previous cut was recent, too: every request may be cut short.
          seconds = performance.now() - cutAt < LOOK ? 1 : 0;
          cutAt = performance.now();
        } else {
          const trouble = answered === null
            ? (error as Error).message
            : `the service gave no usable answer (status ${answered.status})`;
          if (answered === null && trouble !== this.trouble) log(trouble);
          this.#status = answered?.status ?? 200;
          this.trouble = trouble;
          await this.#fallBack();
          this.#rhythm.failures++;
          seconds = this.#rhythm.backOffSeconds(answered?.retryAfter ?? 0);
        }
      }
      await this.#pause(seconds * 1000);
    }
  }

  /** Registers the next key, which then replaces the current one. Throws an Error. */
  async registerOnce(): Promise<void> {
    await this.#register().catch((error) => {
      throw error instanceof Unanswered
        ? new Error("the service has not registered the key")
        : error;
    });
    await this.#options.host.keys.adoptNext();
  }

  /** One round with the service. */
  async #meet(): Promise<void> {
    const { host, log } = this.#options;
    await this.#register();
    await host.keys.adoptNext();
    this.#rhythm.isOneReportEnough = !this.#link.takesPaths || host.watch.isOneReportEnough;
    const applied = this.#isFresh ? null : host.version;
    const due = await this.#link.heartbeat(applied, this.#rhythm.failures === 0);
    if (due === applied) return;
    const answer = await this.#link.configuration();
    const wanted = accept(answer);
    await host.apply(answer, wanted);
    this.#isFresh = false;
    log(`config_version ${wanted.version} is applied`);
  }

  async #register(): Promise<void> {
    const { host, log } = this.#options;
    const registration = await host.registration();
    if (this.#link.isRegistered(registration)) return;
    try {
      const addresses = await this.#link.register(registration);
      this.#isFresh = true;
      const at = registration.endpoint === null ? "" : ` at ${registration.endpoint}`;
      log(`registered with ${addresses.join(", ")}${at}`);
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      if (error.answered.status === 409 && codeOf(error.answered) === "pubkey_in_use") {
        await host.keys.replaceKeyInUse();
      }
      throw error;
    }
  }

  /** Brings up what ran last, unless the answer was that this agent is not in the mesh any more. */
  async #fallBack(): Promise<void> {
    const { host, log } = this.#options;
    if ([401, 403, 404].includes(this.#status)) return;
    try {
      if (await host.bringUpAgain()) log("the last configuration is up");
    } catch (error) {
      log(`the last configuration cannot be brought up: ${(error as Error).message}`);
    }
  }

  /** Resolves to whether the host has moved. Never throws. */
  async #look(): Promise<boolean> {
    const { host, log } = this.#options;
    try {
      return await host.look();
    } catch (error) {
      log(`the host cannot be looked after: ${(error as Error).message}`);
      return false;
    }
  }

  /** Whether the service knows the current state of this host. */
  async #isAsTold(): Promise<boolean> {
    const { host } = this.#options;
    if (this.#link.takesPaths && host.hasPathNews) return false;
    if (host.wanted !== null && host.version === null) return false;
    return this.#link.isRegistered(await host.registration());
  }

  /** Looks after the host until the answer is there. Resolves to whether to cut the request. */
  async #meanwhile(answer: Promise<unknown>): Promise<boolean> {
    let isThere = false;
    const answered = answer.then(() => void (isThere = true));
    while (true) {
      await this.#untilDue(LOOK, answered);
      if (isThere || this.#options.signal.aborted) return false;
      const hasMoved = await this.#look();
      if (isThere) return false;
      if (hasMoved || !await this.#isAsTold().catch(() => false)) return true;
    }
  }

  /** Checks the host meanwhile, and ends early if a check finds something to tell. */
  async #pause(milliseconds: number): Promise<void> {
    const until = performance.now() + milliseconds;
    const { failures } = this.#rhythm;
    if (failures === 0 && this.#options.host.hasForwardingNews) return;
    for (let left = milliseconds; left > 0; left = until - performance.now()) {
      await this.#untilDue(Math.min(left, LOOK));
      if (this.#options.signal.aborted || until - performance.now() <= 0) return;
      const hasMoved = await this.#look();
      if (failures === 0 && (hasMoved || !await this.#isAsTold().catch(() => false))) return;
    }
  }

  /** Waits this long, or until paths have changed, or until the promise resolves. */
  async #untilDue(milliseconds: number, other: Promise<void> = new Promise(() => {})) {
    const { signal, host } = this.#options;
    const ended = new AbortController();
    const stop = other.then(() => ended.abort());
    stop.catch(() => {});
    const until = performance.now() + milliseconds;
    const either = AbortSignal.any([signal, ended.signal]);
    while (!either.aborted) {
      const left = until - performance.now();
      if (left <= 0) return;
      await pause(Math.min(left, GLANCE), either).catch(() => {});
      if (host.hasForwardingNews) return;
    }
  }
}
