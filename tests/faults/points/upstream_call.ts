import type { Passing } from "../../own_function/proxy.ts";

/** One upstream call of a request: the `nth` call with this name, counted from 1. */
export interface UpstreamCall {
  readonly name: string;
  readonly nth: number;
}

const RPC = /^\/rest\/v1\/rpc\/agent_api_(\w+)$/;
const AUTH = /^\/auth\/v1\/(?:\.well-known\/)?(\w+)/;
const STORAGE =
  /^\/storage\/v1\/(object\/(?:upload\/sign|sign|move|copy|info|list|authenticated)|[^/]+)/;

/**
 * The poll that a process makes once a second for all waiting requests. The number of polls within
 * one request is random, so each poll counts as the first. Callers do not see its failures: each
 * waiting request ends with a call of its own.
 */
const POLL = "find_changes";

/**
 * The name of the SQL function, `auth/user` for Auth, or for example `POST object/move` for
 * Storage.
 */
function nameOf({ method, path }: Passing): string {
  const [, functionName] = RPC.exec(path) ?? [];
  if (functionName !== undefined) return functionName;
  const [, authCall] = AUTH.exec(path) ?? [];
  if (authCall !== undefined) return `auth/${authCall}`;
  const [, storageCall] = STORAGE.exec(path) ?? [];
  return `${method} ${storageCall ?? path}`;
}

/** Numbers the calls of one request in their order. */
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
