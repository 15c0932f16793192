import type { Entry } from "../../../histories/history.ts";

/** A request that writes a value. Nobody knows whether it took effect until it is answered. */
export interface Write<Value> {
  readonly value: Value;
  readonly start: number;
  /** Infinity: it was not answered, and may still take effect. */
  end: number;
  isDone: boolean;
}

/** A value that requests replace, with what somebody who reads it may see. */
export class Written<Value> {
  #writes: Write<Value>[];

  constructor(first: Value) {
    this.#writes = [{ value: first, start: 0, end: 0, isDone: true }];
  }

  /** Call it before the request is sent. */
  begin(value: Value, start: number): Write<Value> {
    const write = { value, start, end: Infinity, isDone: false };
    this.#writes.push(write);
    return write;
  }

  /** Notes the answer. A refusal has written nothing. */
  settle(write: Write<Value>, { status, end }: Pick<Entry, "status" | "end">): void {
    if (status === 200) this.finish(write, end);
    else if (status >= 400 && status < 500) {
      this.#writes = this.#writes.filter((other) => other !== write);
    }
  }

  finish(write: Write<Value>, end: number): void {
    write.end = end;
    write.isDone = true;
  }

  /**
   * What a request from `start` to `end` may read: no value that another one had replaced, which
   * was asked for later and answered before `start`.
   */
  possible(start = Infinity, end = Infinity): readonly Value[] {
    return this.#writes.filter((write) =>
      (write.start < end || end === Infinity) &&
      !this.#writes.some((newer) => newer.isDone && newer.start > write.end && newer.end < start)
    ).map(({ value }) => value);
  }

  /** After a restore at `place`, any earlier value may be back. */
  forget(place: number): void {
    for (const write of this.#writes) write.end = place;
  }
}

/** The value of a name; a new one begins with `first`. */
export function writtenOf<Value>(
  values: Map<string, Written<Value>>,
  name: string,
  first: Value,
): Written<Value> {
  const present = values.get(name) ?? new Written(first);
  values.set(name, present);
  return present;
}
