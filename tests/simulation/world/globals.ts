import { AsyncLocalStorage } from "node:async_hooks";
import nodeCrypto from "node:crypto";
import type { Random } from "../../seeds/random.ts";
import type { Instance } from "./instance.ts";
import type { Event, Timeline } from "./timeline.ts";

/** Whose code runs: it decides what its randomness and its calls are called. */
export interface Running {
  /** Such as `12.1`, the first request of step 12. */
  readonly name: string;
  readonly random: Random;
  /** The process of a function that runs it; null: a client, Storage or the database. */
  readonly instance: Instance | null;
  /** How often each call was made. */
  readonly calls: Map<string, number>;
}

/** What the process' globals belong to while a history runs. */
export interface GlobalsOwner {
  readonly timeline: Timeline;
  /** Milliseconds since 1970, for JavaScript; the database may have another clock. */
  wallClock(): number;
  databaseClock(): number;
  fetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response>;
  /** What code writes to its log. */
  log(text: string): void;
  /** For code that runs for nobody in particular. */
  readonly background: Running;
}

const real = {
  Date,
  dateNow: Date.now.bind(Date),
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setImmediate: globalThis.setImmediate,
  fetch: globalThis.fetch,
  now: performance.now.bind(performance),
  random: Math.random,
  getRandomValues: crypto.getRandomValues.bind(crypto),
  randomUUID: crypto.randomUUID.bind(crypto),
  timeout: AbortSignal.timeout,
  resolveDns: Deno.resolveDns,
};

/** An address of the public internet: every name of a history has it. */
const PUBLIC_ADDRESS = "192.0.2.1";

/** Real milliseconds, for measuring the simulator itself. */
export const realNow = real.now;

const running = new AsyncLocalStorage<Running>();
let owner: GlobalsOwner | null = null;
let inDatabase: Running | null = null;

export function runAs<Result>(who: Running, work: () => Result): Result {
  return running.run(who, work);
}

export function whoRuns(): Running {
  return running.getStore() ?? owner!.background;
}

/** Runs a query. Its clock and its randomness are the database's, and it has no timers. */
export function runInDatabase<Result>(work: () => Result): Result {
  if (owner === null) return work();
  inDatabase = whoRuns();
  try {
    return work();
  } finally {
    inDatabase = null;
  }
}

/** Gives the globals to a history; null gives them back to the process. */
export function ownGlobals(next: GlobalsOwner | null): void {
  owner = next;
  // Those of the last history never come. They would keep its whole world in memory.
  timers.clear();
}

/** Resolves when no promise can go on any more without an event of the timeline. */
export async function settled(activity: () => number): Promise<void> {
  const IDLE_TURNS = 3;
  for (let idle = 0, last = activity(); idle < IDLE_TURNS; idle++) {
    await new Promise<void>((resolve) => real.setImmediate(resolve));
    if (activity() !== last) [idle, last] = [-1, activity()];
  }
}

function now(): number {
  if (owner === null) return real.dateNow();
  return Math.floor(inDatabase === null ? owner.wallClock() : owner.databaseClock());
}

function fillRandomly<View extends ArrayBufferView | null>(view: View): View {
  if (owner === null || view === null) return real.getRandomValues(view as never) as View;
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  const { random } = inDatabase ?? whoRuns();
  for (let index = 0; index < bytes.length; index++) bytes[index] = random.below(256);
  return view;
}

function randomUUID(): ReturnType<typeof crypto.randomUUID> {
  const bytes = fillRandomly(new Uint8Array(16));
  bytes[6] = bytes[6]! & 0x0f | 0x40;
  bytes[8] = bytes[8]! & 0x3f | 0x80;
  const hex = bytes.toHex();
  const groups = [[0, 8], [8, 12], [12, 16], [16, 20], [20, 32]] as const;
  const [a, b, c, d, e] = groups.map(([start, end]) => hex.slice(start, end));
  return `${a!}-${b!}-${c!}-${d!}-${e!}`;
}

/** Timers of the timeline, by the numbers that code has of them. */
const timers = new Map<number, Event>();
let lastTimer = 0x40000000;

function setVirtualTimeout(run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) {
  if (owner === null) return real.setTimeout(run, ms, ...args);
  // The database's own timeouts cannot pass while a query runs, because no time passes then.
  if (inDatabase !== null) return 0;
  const who = whoRuns();
  const id = ++lastTimer;
  const event = owner.timeline.after(ms, () => {
    timers.delete(id);
    if (who.instance?.isAlive ?? true) runAs(who, () => run(...args));
  });
  timers.set(id, event);
  return id;
}

function clearVirtualTimeout(id?: number): void {
  const event = timers.get(id ?? 0);
  if (event === undefined) return real.clearTimeout(id);
  event.isCancelled = true;
  timers.delete(id!);
}

function virtualTimeout(milliseconds: number): AbortSignal {
  if (owner === null) return real.timeout.call(AbortSignal, milliseconds);
  const controller = new AbortController();
  owner.timeline.after(milliseconds, () => {
    controller.abort(new DOMException("Signal timed out.", "TimeoutError"));
  });
  return controller.signal;
}

/** Replaces the process' clocks, timers, randomness and fetch by those of the history that runs. */
export function replaceGlobals(): void {
  const define = (object: object, values: Record<string, unknown>) => {
    for (const [name, value] of Object.entries(values)) {
      Object.defineProperty(object, name, { value, configurable: true, writable: true });
    }
  };
  define(real.Date, { now });
  define(globalThis, {
    Date: new Proxy(real.Date, {
      construct: (target, args, newTarget) =>
        Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    }),
    setTimeout: setVirtualTimeout,
    clearTimeout: clearVirtualTimeout,
    fetch: (input: RequestInfo | URL, init?: RequestInit) =>
      owner === null ? real.fetch(input, init) : owner.fetch(input, init),
  });
  define(performance, { now: () => owner === null ? real.now() : owner.timeline.now });
  define(Math, { random: () => owner === null ? real.random() : whoRuns().random.fraction() });
  define(crypto, { getRandomValues: fillRandomly, randomUUID });
  define(nodeCrypto, { randomFillSync: fillRandomly });
  define(AbortSignal, { timeout: virtualTimeout });
  const error = console.error.bind(console);
  define(console, {
    error: (...words: unknown[]) => owner === null ? error(...words) : owner.log(String(words[0])),
  });
  // A process of a function would write its counts when it ends. Here it ends without a word.
  define(Deno, {
    addSignalListener: () => {},
    resolveDns: (...query: Parameters<typeof Deno.resolveDns>) =>
      owner === null
        ? real.resolveDns(...query)
        : Promise.resolve(query[1] === "A" ? [PUBLIC_ADDRESS] : []),
  });
}
