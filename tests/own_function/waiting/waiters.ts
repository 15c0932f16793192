/** Requests that wait at one function. A proxy sees the function's calls. */
import assert from "node:assert/strict";
import type { InboxPage } from "../../conformance/artifacts.ts";
import type { Agent, Answer } from "../../conformance/client.ts";
import type { OwnFunction } from "../own_function.ts";
import type { Intercept, Passing, Proxy } from "../proxy.ts";

const POLL = "/rest/v1/rpc/agent_api_find_changes";

export interface WaitingRequest<Body = InboxPage> {
  readonly answer: Promise<Answer<Body>>;
  /** Disconnects without an answer. */
  abort(): void;
}

/** Waits in the agent's inbox, or for `asked`, for longer than any test runs. */
export function waitInInbox<Body = InboxPage>(
  own: Pick<OwnFunction, "process">,
  agent: Agent,
  asked: { readonly path: string; readonly body: object } = { path: "/inbox", body: {} },
): WaitingRequest<Body> {
  const controller = new AbortController();
  const request = async () => {
    const response = await fetch(`${own.process.url}/agent-artifacts${asked.path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${agent.key}` },
      body: JSON.stringify({ ...asked.body, wait_seconds: 140 }),
      signal: controller.signal,
    });
    const { status, headers } = response;
    return { status, headers, body: await response.json() as Body };
  };
  const answer = request();
  // A test that aborts the request does not need the error.
  answer.catch(() => {});
  return { answer, abort: () => controller.abort() };
}

/** The number of requests that a poll covers. */
function waitsIn({ body }: Passing): number {
  return JSON.parse(body).waits.length;
}

/** Resolves when a poll passes whose number of covered requests satisfies `wanted`. */
export function pollPasses(
  proxy: Proxy,
  wanted: (waits: number) => boolean,
  otherwise: Intercept = () => {},
): Promise<void> {
  return new Promise((resolve) => {
    proxy.intercept((passing, forward) => {
      if (passing.path === POLL && wanted(waitsIn(passing))) {
        proxy.letPass();
        resolve();
      }
      return otherwise(passing, forward);
    });
  });
}

/** For each poll so far, the number of requests that it covered. */
export function pollsOf({ passed }: Proxy): number[] {
  return passed.filter(({ path }) => path === POLL).map(waitsIn);
}

/** Asserts that a wait ended without news. */
export async function assertEmpty({ answer }: WaitingRequest): Promise<void> {
  const { status, body } = await answer;
  assert.equal(status, 200);
  assert.deepEqual(body.grants, []);
}
