import assert from "node:assert/strict";
import type { SentPath } from "../../../agent-files/contract/types.ts";
import type { Connection } from "../../../agent-files/http/connection.ts";
import { Follower } from "../../mesh/service/follower.ts";

interface Wait {
  readonly paths: readonly SentPath[];
  readonly wait_seconds: number;
}

/** A service without any events, which answers every wait at once. */
function impatientService() {
  const waits: Wait[] = [];
  const post = (path: string, body: Wait) => {
    if (path === "/events") return Promise.resolve({ events: [], latest: "1", more: false });
    if (path === "/wg_config") return Promise.resolve({ config_version: 1 });
    waits.push(body);
    return Promise.resolve({
      config_version: 1,
      events: { changed: false, latest: "1" },
      heartbeat_interval_seconds: 15,
    });
  };
  const connection = {
    post,
    waitLength: { seconds: 140, isTooLong: () => false },
    signalOf: ({ signal }: { signal?: AbortSignal }) => signal,
  };
  return { connection: connection as unknown as Connection, waits };
}

Deno.test("askAgain() between two waits → another wait, and the following goes on", async () => {
  const { connection, waits } = impatientService();
  const over = new AbortController();
  const follower = new Follower(connection, {
    apply: () => Promise.resolve(),
    paths: () => [],
    register: () => Promise.resolve(),
    onEvents: () => Promise.resolve(),
  }, over.signal);
  await follower.start();
  const ended = follower.run().then(() => null, (error) => error);
  const soon = (milliseconds: number) =>
    Promise.race([ended, new Promise((resolve) => setTimeout(resolve, milliseconds, "running"))]);
  for (let asked = 1; asked <= 3; asked++) {
    assert.equal(await soon(50), "running");
    // Without askAgain(), the follower pauses for more than a second.
    assert.equal(waits.length, asked);
    follower.askAgain();
  }
  over.abort(new Error("Over."));
  assert.equal((await ended).message, "Over.");
});

Deno.test("130 neighbours → each request names 64, the next one others, and waits for less long", async () => {
  const { connection, waits } = impatientService();
  const over = new AbortController();
  const follower = new Follower(connection, {
    apply: () => Promise.resolve(),
    paths: () =>
      Array.from({ length: 130 }, (_, index) => ({
        agent_id: `peer-${index}`,
        handshake_age_seconds: null,
        endpoint: null,
        via: "none",
      })),
    register: () => Promise.resolve(),
    onEvents: () => Promise.resolve(),
  }, over.signal);
  await follower.start();
  const ended = follower.run().then(() => null, (error) => error);
  for (let asked = 1; asked <= 3; asked++) {
    while (waits.length < asked) await new Promise((resolve) => setTimeout(resolve, 5));
    follower.askAgain();
  }
  over.abort(new Error("Over."));
  assert.equal((await ended).message, "Over.");
  const named = waits.slice(0, 3).flatMap(({ paths }) => paths.map(({ agent_id }) => agent_id));
  assert.equal(new Set(named).size, 130);
  // The default interval of reports is 30 seconds, until the service names another one.
  assert.deepEqual(waits.slice(0, 3).map(({ wait_seconds }) => wait_seconds), [30, 15, 15]);
});
