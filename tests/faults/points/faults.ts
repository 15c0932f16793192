/** The faults that can strike one call between a function and its upstream. */
import type postgres from "postgres";
import type { Gate } from "../../own_function/proxy.ts";
import { terminateBackendsOf } from "./terminated_backend.ts";
import type { Victim } from "./victim.ts";

/** What a fault can use. */
export interface Strike {
  /** Makes the upstream call. */
  readonly forward: () => Promise<Response>;
  readonly victim: Victim;
  /** Opens when the caller has its answer, or has lost the connection. */
  readonly answered: Gate;
  /** Connected as the superuser. */
  readonly sql: postgres.Sql;
}

/** Resolves to the response that the function gets instead of the real one. */
export type Fault = (strike: Strike) => Promise<Response>;

/** After these faults the caller has no answer, and the function runs in a new process. */
export const KILLS: Readonly<Record<string, Fault>> = {
  async "killed before"({ victim }) {
    await victim.kill();
    return gone();
  },
  async "killed after"({ victim, forward }) {
    await swallow(forward);
    await victim.kill();
    return gone();
  },
};

export const TROUBLES: Readonly<Record<string, Fault>> = {
  async "answer lost"({ forward }) {
    await swallow(forward);
    return new Response("upstream connect error", { status: 502 });
  },
  async "answer cut off"({ forward }) {
    await swallow(forward);
    return new Response(cutOff());
  },
  async "answer garbled"({ forward }) {
    const { status, headers, body } = await read(forward);
    const half = new TextDecoder().decode(body.slice(0, Math.floor(body.byteLength / 2)));
    // Drop the closing brackets, so that the half is not valid JSON.
    return new Response(half.replace(/[}\]]+$/, ""), { status, headers });
  },
  async "answer replaced by a page"({ forward }) {
    await swallow(forward);
    return new Response("<h1>Welcome</h1>", { headers: { "content-type": "text/html" } });
  },
  /** The upstream carries out the call in time, but its answer comes too late. */
  async "answer 60 s late"({ forward, victim, answered }) {
    const { status, headers, body } = await read(forward);
    victim.passDeadlines();
    await answered.wait();
    return new Response(body, { status, headers });
  },
  /** The upstream carries out the call only after the function has given up. */
  async "call 60 s late"({ forward, victim, answered }) {
    victim.passDeadlines();
    await answered.wait();
    return await forward();
  },
  "backend terminated": ({ forward, sql }) => terminateBackendsOf(forward, sql),
  "500 in its place": () => Promise.resolve(new Response("Internal Server Error", { status: 500 })),
};

/**
 * An operation makes some calls only when another call fails, or when the outcome of another call
 * is unknown. These troubles reveal such calls.
 */
export const REVEALING_TROUBLES = ["500 in its place", "answer lost"] as const;

export type RevealingTrouble = typeof REVEALING_TROUBLES[number];

async function read(forward: Strike["forward"]) {
  const { status, headers, body } = await forward();
  // The length differs if bytes are left out.
  const kept = new Headers(headers);
  kept.delete("content-length");
  return { status, headers: kept, body: await new Response(body).arrayBuffer() };
}

async function swallow(forward: Strike["forward"]): Promise<void> {
  await (await forward()).arrayBuffer();
}

/** The response to a function that was killed. */
function gone(): Response {
  return new Response(null, { status: 503 });
}

function cutOff(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"'));
    },
    pull(controller) {
      controller.error(new Error("cut"));
    },
  });
}
