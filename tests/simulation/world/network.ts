import type { Choice, Decisions } from "./decisions.ts";
import { runAs, type Running, whoRuns } from "./globals.ts";
import type { Timeline } from "./timeline.ts";
import type { Transcript } from "./transcript.ts";

/** What becomes of one call between two parties. */
export type Fate =
  | "arrives"
  /** The other party never gets it; the caller is told so. */
  | "refused"
  /** The other party does it, but the caller gets a 502 of a gateway. */
  | "answer lost"
  /** The other party is still at work when the caller gets a 502 of a gateway. */
  | "cut off"
  /** The other party never gets it, but the caller gets a 502 of a gateway. */
  | "502"
  /** The other party does it, and the caller hears nothing until it gives up. */
  | "silence"
  /** The answer breaks off in the middle of its body. */
  | "broken off";

/** How often each fate comes, in a thousand calls. The ordinary one comes first. */
const FATES: readonly [Choice<Fate>, ...Choice<Fate>[]] = [
  [930, "arrives"],
  [9, "refused"],
  [8, "answer lost"],
  [29, "cut off"],
  [9, "502"],
  [7, "silence"],
  [8, "broken off"],
];

/** How many times as many faults as usual a history has. Some histories go deep without any. */
const FAULTS = [0, 0.3, 1, 1, 3];

/** The fates of a history that has `times` as many faults. */
function fates(times: number): typeof FATES {
  const [[usually, arrives], ...faults] = FATES;
  return [
    [usually, arrives],
    ...faults.map(([weight, fate]): Choice<Fate> => [weight * times, fate]),
  ];
}

/** Milliseconds by their weights; the ordinary one comes first. */
type Delays = readonly [Choice<number>, ...Choice<number>[]];

/** How long a call takes in each direction, in milliseconds. */
const DELAYS: Delays = [
  [800, 2],
  [120, 40],
  [50, 700],
  [20, 6_000],
  [10, 35_000],
];

/**
 * How long Storage copies a small object when it moves it. Less than the ten seconds of
 * `artifacts.longest_move`: a copy that takes longer counts as failed, and may be left behind.
 */
export const COPYING: Delays = [[550, 5], [200, 2_000], [250, 8_000]];

/** A party that answers requests: a function's process, PostgREST or Storage. */
export type Server = (request: Request) => Promise<Response>;

/** Carries every call of the simulated world, and decides what becomes of each. */
export class Network {
  /** Grows with everything that happens, so that one sees when nothing does. */
  activity = 0;
  /** No faults and no delays any more. */
  isCalm = false;
  readonly #fates: typeof FATES;

  constructor(
    private readonly timeline: Timeline,
    private readonly decisions: Decisions,
    private readonly transcript: Transcript,
  ) {
    this.#fates = fates(decisions.random("how many faults there are").pick(FAULTS));
  }

  /** Milliseconds for something that is usually quick. */
  delay(name: string, delays = DELAYS): number {
    return this.isCalm ? 1 : this.decisions.choose(`${name} delay`, delays);
  }

  /** Whether something happens that seldom does: in one of `most` cases. */
  isBadLuck(name: string, most: number): boolean {
    return !this.isCalm && this.decisions.choose(name, [[most - 1, false], [1, true]]);
  }

  /** A name that no other call of the running request has. */
  nameCall(call: string): string {
    const { name, calls } = whoRuns();
    const count = (calls.get(call) ?? 0) + 1;
    calls.set(call, count);
    return `${name} ${call}${count === 1 ? "" : `#${count}`}`;
  }

  /**
   * Sends `request` to `server`, whose code runs as `serverSide`. Rejects as `fetch` does: with the
   * signal's reason, or with a TypeError if the connection fails.
   */
  call(name: string, request: Request, { server, serverSide, signal }: {
    readonly server: Server;
    readonly serverSide: Running;
    readonly signal: AbortSignal | null | undefined;
  }): Promise<Response> {
    const fate = this.isCalm ? "arrives" : this.decisions.choose(`${name} fate`, this.#fates);
    const caller = whoRuns();
    if (fate !== "arrives") this.transcript.fault(name, fate);
    return new Promise((resolve, reject) => {
      const hangUp = () => {
        this.transcript.fault(name, "given up by the caller");
        reject(signal!.reason);
      };
      if (signal?.aborted) return hangUp();
      signal?.addEventListener("abort", hangUp, { once: true });
      const end = (settle: () => void) => {
        this.timeline.after(this.delay(`${name} back`), () => {
          this.activity++;
          signal?.removeEventListener("abort", hangUp);
          if (caller.instance?.isAlive ?? true) settle();
        });
      };
      const fail = () =>
        end(() => reject(new TypeError("error sending request: connection reset")));
      if (fate === "refused") return fail();
      if (fate === "502") return end(() => resolve(badGateway()));
      this.timeline.after(this.delay(`${name} out`), () => {
        this.activity++;
        const isOver = () => serverSide.instance?.isAlive === false;
        if (isOver()) return fail();
        serverSide.instance?.whenKilled.push(fail);
        if (fate === "cut off") end(() => resolve(badGateway()));
        runAs(serverSide, () => server(request)).then(async (response) => {
          this.activity++;
          const bytes = new Uint8Array(await response.arrayBuffer());
          if (isOver()) return;
          this.transcript.answer(name, response.status, bytes);
          if (fate === "silence" || fate === "cut off") return;
          if (fate === "answer lost") return end(() => resolve(badGateway()));
          end(() => resolve(copyOf(response, bytes, fate === "broken off" && bytes.length > 1)));
        }, (error: unknown) => {
          if (isOver()) return;
          this.transcript.fault(name, `failed: ${error}`);
          fail();
        });
      });
    });
  }
}

function badGateway(): Response {
  return new Response("<html>502 Bad Gateway</html>", {
    status: 502,
    headers: { "content-type": "text/html" },
  });
}

/** The answer as `fetch` gives it: its body is a stream of bytes. */
function copyOf(response: Response, bytes: Uint8Array, isBrokenOff: boolean): Response {
  const { status, headers } = response;
  if (status === 204 || status === 304) return new Response(null, { status, headers });
  const body = new ReadableStream({
    type: "bytes",
    start(controller) {
      const sent = isBrokenOff ? bytes.slice(0, bytes.length >> 1) : bytes;
      if (sent.length > 0) controller.enqueue(sent.slice());
      if (isBrokenOff) controller.error(new TypeError("error reading a body from connection"));
      else controller.close();
    },
  });
  return new Response(body, { status, headers });
}
