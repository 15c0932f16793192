import assert from "node:assert/strict";
import type { SentRefusal } from "../../../agent-peer/service.ts";
import { ServiceLink, Unanswered } from "../../mesh/up/service/link.ts";
import type { Answered, Requests } from "../../mesh/up/service/requests.ts";
import { Rhythm } from "../../mesh/up/service/rhythm.ts";

const NEWS = { config_version: 7, heartbeat_interval_seconds: 30 };

/** A link to a service that answers as `answer` says, and what it was sent. */
function linkTo(
  answer: (body: Record<string, unknown>) => Partial<Answered>,
  network: () => string | null,
  refused: () => readonly SentRefusal[] = () => [],
) {
  const sent: Record<string, unknown>[] = [];
  const paths: string[] = [];
  const said: string[] = [];
  const requests = {
    post(path: string, body: Record<string, unknown>) {
      sent.push(body);
      paths.push(path);
      const answered = { body: NEWS, seconds: 0, wasCut: false, retryAfter: 0, ...answer(body) };
      return Promise.resolve(answered as Answered);
    },
    logRefusal() {},
  } as unknown as Requests;
  const link = new ServiceLink({
    requests,
    rhythm: new Rhythm(null),
    agentId: undefined,
    log: (text) => said.push(text),
    meanwhile: () => Promise.resolve(false),
    paths: () => [],
    overlap: () => {
      const taken = network();
      return taken === null ? null : { network: taken };
    },
    refused: () => Promise.resolve(refused()),
  });
  return { link, sent, paths, said };
}

Deno.test("a network that is taken → told with each heartbeat, without the network for IPv6; none → nothing told", async () => {
  let network: string | null = "172.17.0.0/16";
  const { link, sent, paths } = linkTo(() => ({ status: 200 }), () => network);
  await link.heartbeat(null, true);
  network = "fd00:1::/48";
  await link.heartbeat(null, true);
  network = null;
  assert.equal(await link.heartbeat(7, false), 7);
  assert.deepEqual(sent, [
    { problem: { code: "network_taken", network: "172.17.0.0/16" } },
    { problem: { code: "network_taken", network: null } },
    { config_version: 7 },
  ]);
  assert.deepEqual(paths, ["/peer/heartbeat", "/peer/heartbeat", "/wait"]);
});

Deno.test("what peers tried without a rule → told with the next heartbeat, once; nothing → no field, and a wait", async () => {
  const refusal = { agent_id: "planner", port: 80, proto: "tcp", attempts: 2 } as const;
  const found: SentRefusal[] = [refusal];
  const { link, sent, paths } = linkTo(() => ({ status: 200 }), () => null, () => found.splice(0));
  await link.heartbeat(7, false);
  await link.heartbeat(7, false);
  assert.deepEqual(sent, [{ config_version: 7, refused: [refusal] }, { config_version: 7 }]);
  assert.deepEqual(paths, ["/peer/heartbeat", "/wait"]);
});

Deno.test("a service that does not know the field → said once, and the heartbeat goes without it; another 422 → fails", async () => {
  let knowsNothing = false;
  const { link, sent, said } = linkTo(
    (body) => ({ status: knowsNothing || "problem" in body ? 422 : 200 }),
    () => "172.17.0.0/16",
  );
  for (let round = 0; round < 2; round++) assert.equal(await link.heartbeat(null, true), 7);
  assert.deepEqual(sent.map((body) => "problem" in body), [true, false, false]);
  assert.equal(said.length, 1);
  knowsNothing = true;
  await assert.rejects(link.heartbeat(null, true), Unanswered);
});
