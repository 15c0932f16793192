import assert from "node:assert/strict";
import { type Agent, createAgent } from "../../conformance/client.ts";
import { configOf, netmapOf, pairUp, valuesOf } from "../../conformance/mesh_cast.ts";

export async function newAgents(): Promise<[one: Agent, other: Agent]> {
  return await Promise.all([createAgent("one"), createAgent("other")]);
}

/** Two new agents with peers and a rule. */
export async function newPair(): Promise<[one: Agent, other: Agent]> {
  const [one, other] = await newAgents();
  await pairUp(one, other);
  return [one, other];
}

/** Asserts that each agent has the other in its configuration, with the same PSK. */
export async function assertConnected(one: Agent, other: Agent): Promise<void> {
  const [psk, ...more] = valuesOf("PresharedKey", await configOf(one));
  assert.ok(psk);
  assert.deepEqual(more, []);
  assert.deepEqual(valuesOf("PresharedKey", await configOf(other)), [psk]);
}

export async function assertOnline(agent: Agent): Promise<void> {
  assert.equal((await netmapOf(agent)).peers[0]?.online, true);
}
