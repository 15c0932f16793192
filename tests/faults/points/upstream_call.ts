import type { Passing } from "../../own_function/proxy.ts";

/** One call of a request: the `nth` of its name, from 1. */
export interface UpstreamCall {
  readonly name: string;
  readonly nth: number;
}

const RPC = /^\/rest\/v1\/rpc\/(\w+)$/;
const AUTH = /^\/auth\/v1\/(?:\.well-known\/)?(\w+)/;
const STORAGE =
  /^\/storage\/v1\/(object\/(?:upload\/sign|sign|move|copy|info|list|authenticated)|[^/]+)/;

/**
 * Asked once a second for everybody who waits. How often that is within one request is chance, so
 * that each is the first. Nobody is told of its failures: who waits is answered in the end by a
 * call of its own.
 */
const POLL = "find_changes";

/** The SQL function that is called, Auth's `auth/user`, or as Storage's `POST object/move`. */
function nameOf({ method, path }: Passing): string {
  const [, functionName] = RPC.exec(path) ?? [];
  if (functionName !== undefined) return functionName;
  const [, authCall] = AUTH.exec(path) ?? [];
  if (authCall !== undefined) return `auth/${authCall}`;
  const [, storageCall] = STORAGE.exec(path) ?? [];
  return `${method} ${storageCall ?? path}`;
}

/** Numbers the calls of one request as they come. */
export class CallCounter {
  readonly #counts = new Map<string, number>();

  count(passing: Passing): UpstreamCall {
    const name = nameOf(passing);
    if (name === POLL) return { name, nth: 1 };
    const nth = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, nth);
    return { name, nth };
  }
}

export function keyOf({ name, nth }: UpstreamCall): string {
  return nth === 1 ? name : `${name} #${nth}`;
}
