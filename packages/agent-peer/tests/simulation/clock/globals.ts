/** What programs take from their platform: time, timers, random numbers, WebAssembly. */
import type { Random } from "../../../../../tests/seeds/random.ts";
import type { Timeline } from "./timeline.ts";

const modules = new Map<number, Promise<WebAssembly.Module>>();

/**
 * Makes the platform's calls mean the simulated machine whose code makes them. Returns a function
 * that undoes this. `random` is for code that belongs to no machine.
 */
export function simulateGlobals(timeline: Timeline, random: Random): () => void {
  const undo: (() => void)[] = [];
  function replace<Target extends object>(target: Target, members: Partial<Target>): void {
    for (const [name, value] of Object.entries(members)) {
      const before = Object.getOwnPropertyDescriptor(target, name);
      Object.defineProperty(target, name, { value, configurable: true, writable: true });
      undo.push(() => {
        if (before !== undefined) Object.defineProperty(target, name, before);
        else Reflect.deleteProperty(target, name);
      });
    }
  }

  const timers = new Map<number, () => void>();
  let nextTimer = 1;
  function startTimer(run: () => void, milliseconds: number): number {
    const id = nextTimer++;
    const { current: clock, now } = timeline;
    const action = () => {
      timers.delete(id);
      run();
    };
    if (clock === null) {
      const entry = timeline.at(now + Math.max(0, milliseconds), action);
      timers.set(id, () => entry.isCancelled = true);
    } else {
      const own = clock.setTimer(action, milliseconds);
      timers.set(id, () => clock.clearTimer(own));
    }
    return id;
  }
  function stopTimer(id: number | undefined): void {
    timers.get(id ?? 0)?.();
    timers.delete(id ?? 0);
  }
  type Run = (...args: unknown[]) => void;
  const setTimeout = (run: Run, milliseconds = 0, ...args: unknown[]) =>
    startTimer(() => run(...args), milliseconds);
  const setInterval = (run: Run, milliseconds = 0, ...args: unknown[]) => {
    let current = 0;
    const id = nextTimer++;
    const arm = () =>
      current = startTimer(() => {
        arm();
        run(...args);
      }, milliseconds);
    arm();
    timers.set(id, () => stopTimer(current));
    return id;
  };
  replace(globalThis as unknown as Record<string, unknown>, {
    setTimeout,
    clearTimeout: stopTimer,
    setInterval,
    clearInterval: stopTimer,
    setImmediate: (run: Run, ...args: unknown[]) => setTimeout(run, 0, ...args),
    clearImmediate: stopTimer,
  });
  replace(performance, { now: () => timeline.current?.steady() ?? timeline.now });
  replace(Date, { now: () => timeline.current?.wall() ?? Math.floor(timeline.now) });
  replace(crypto, {
    getRandomValues<Values extends ArrayBufferView | null>(values: Values): Values {
      const source = timeline.current?.random ?? random;
      if (values === null) return values;
      const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
      for (let at = 0; at < bytes.length; at++) bytes[at] = source.below(256);
      return values;
    },
  } as Partial<Crypto>);
  const { compile } = WebAssembly;
  replace(WebAssembly, {
    // Every program of a simulation has the same lwIP, so compile that once.
    compile(bytes: BufferSource) {
      const known = modules.get(bytes.byteLength) ?? compile(bytes);
      modules.set(bytes.byteLength, known);
      return known;
    },
    instantiate: ((module: WebAssembly.Module, imports: WebAssembly.Imports) => {
      const instance = new WebAssembly.Instance(module, imports);
      const { memory } = instance.exports;
      if (memory instanceof WebAssembly.Memory) timeline.current?.memories.push(memory);
      return Promise.resolve(instance);
    }) as typeof WebAssembly.instantiate,
  });
  return () => {
    for (const restore of undo.reverse()) restore();
  };
}
