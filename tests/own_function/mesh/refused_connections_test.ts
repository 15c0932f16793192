import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { type Agent, assertError, type Sender } from "../../conformance/client.ts";
import { eventsOf } from "../../conformance/enrolment/enrolments.ts";
import {
  agree,
  join,
  meshTest,
  newPubkey,
  pairUp,
  ruleBetween,
} from "../../conformance/mesh_cast.ts";
import { type OwnFunction, startOwnFunction } from "../own_function.ts";

const TYPE = "connection.refused";

/** Ports that tell the events of this run from those of others. */
function attempt(agent: Agent, port: number | null, attempts = 1) {
  return { agent_id: agent.id, port, proto: "tcp", attempts };
}

async function asked(perHour: number): Promise<OwnFunction> {
  return await startOwnFunction({
    name: "agent-mesh",
    environment: {
      MESH_REFUSED_PER_HOUR: String(perHour),
      PSK_ENCRYPTION_KEYS: randomBytes(32).toString("base64"),
    },
  });
}

async function report(own: OwnFunction, as: Sender, body: object): Promise<void> {
  const { status } = await own.post("/peer/heartbeat", { as, body });
  assert.equal(status, 200);
}

async function portsIn(agent: Agent): Promise<unknown[]> {
  return (await eventsOf(TYPE, { agent_id: agent.id })).map(({ port }) => port);
}

meshTest(
  "MESH_REFUSED_PER_HOUR=20 → the configuration asks for refused connections, and each is an event for the operator alone",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    await using own = await asked(20);
    const { body } = await own.post<{ report_refused: boolean }>("/wg_config", {
      as: alice,
      body: { format: "json" },
    });
    assert.equal(body.report_refused, true);
    await report(own, alice, { refused: [attempt(bob, 8080, 3), attempt(bob, null)] });
    const found = await eventsOf(TYPE, { agent_id: alice.id });
    const shared = { from_agent: bob.id, to_agent: alice.id, agent_id: alice.id, proto: "tcp" };
    for (const [index, expected] of [{ port: 8080, attempts: 3 }, { attempts: 1 }].entries()) {
      const event = { ...shared, actor: alice.id, ...expected };
      assert.deepEqual({ ...found[index]!, ...event }, found[index]);
    }
    assert.equal(found.length, 2);
    assert.equal("port" in found[1]!, false);
    for (const agent of [alice, bob]) {
      const { body } = await own.post<{ events: { type: string }[] }>("/events", {
        as: agent,
        body: { limit: 1000 },
      });
      assert.deepEqual(body.events.filter(({ type }) => type === TYPE), []);
    }
  },
);

meshTest(
  "MESH_REFUSED_PER_HOUR=0 → what a host reports all the same is no event, and the configuration does not ask",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    await using own = await asked(0);
    const { body } = await own.post<{ report_refused: boolean }>("/wg_config", {
      as: alice,
      body: { format: "json" },
    });
    assert.equal(body.report_refused, false);
    await report(own, alice, { refused: [attempt(bob, 8080)] });
    assert.deepEqual(await portsIn(alice), []);
  },
);

meshTest(
  "more refused connections than MESH_REFUSED_PER_HOUR → no event beyond it, not after a new registration either, and other agents have their own",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    await using own = await asked(3);
    await report(own, alice, { refused: [attempt(bob, 1), attempt(bob, 2)] });
    await report(own, alice, { refused: [attempt(bob, 3), attempt(bob, 4)] });
    await report(own, alice, { refused: [attempt(bob, 5)] });
    await own.post("/peer/remove", { as: alice, body: { agent_id: alice.id } });
    await own.post("/peer/register", { as: alice, body: { pubkey: newPubkey() } });
    await agree(ruleBetween(alice, bob));
    await report(own, alice, { refused: [attempt(bob, 6)] });
    assert.deepEqual(await portsIn(alice), [1, 2, 3]);
    await report(own, bob, { refused: [attempt(alice, 7)] });
    assert.deepEqual(await portsIn(bob), [1, 2, 3, 7]);
  },
);

meshTest(
  "a refused connection of a stranger, of an unknown agent, or of the agent itself → ignored, and does not count",
  async ({ alice, bob, carol }) => {
    await pairUp(alice, bob);
    await join(carol);
    await using own = await asked(1);
    const nobody = { ...bob, id: `nobody-${crypto.randomUUID()}` };
    await report(own, alice, { refused: [carol, nobody, alice].map((one) => attempt(one, 1)) });
    assert.deepEqual(await portsIn(alice), []);
    assert.deepEqual(await portsIn(carol), []);
    await report(own, alice, { refused: [attempt(bob, 2)] });
    assert.deepEqual(await portsIn(alice), [2]);
  },
);

meshTest(
  "a report for another agent → 403; without a peer → 404; neither is an event",
  async ({ alice, bob, carol }) => {
    await pairUp(alice, bob);
    await using own = await asked(20);
    const refused = [attempt(bob, 1)];
    const heartbeat = (as: Agent, body: object) => own.post("/peer/heartbeat", { as, body });
    assertError(await heartbeat(bob, { agent_id: alice.id, refused }), 403, "forbidden");
    assertError(await heartbeat(carol, { refused }), 404, "peer_not_found");
    for (const agent of [alice, bob, carol]) assert.deepEqual(await portsIn(agent), []);
  },
);
