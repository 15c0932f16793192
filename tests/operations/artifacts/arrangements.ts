/** States in which the fault scenarios of several operations begin, and what holds at their end. */
import assert from "node:assert/strict";
import {
  type Artifact,
  download,
  grant,
  listed,
  open,
  publish,
  redeem,
  sha256,
} from "../../conformance/artifacts.ts";
import { type Agent, assertError, createAgent } from "../../conformance/client.ts";

/** Two new agents: an owner, and an agent that may get grants of the owner's artifacts. */
export async function castOfTwo(): Promise<[owner: Agent, reader: Agent]> {
  return await Promise.all([createAgent("owner"), createAgent("reader")]);
}

/** Asserts that the agent has exactly artifacts with these keys, each with its own bytes. */
export async function assertHolds(owner: Agent, keys: readonly string[]): Promise<void> {
  const artifacts = await listed(owner);
  assert.deepEqual(artifacts.map(({ key }) => key), keys);
  for (const artifact of artifacts) await assertContent(owner, artifact);
}

export async function assertContent(reader: Agent, artifact: Artifact): Promise<void> {
  const opened = await open(reader, artifact);
  assert.equal(opened.status, 200, JSON.stringify(opened.body));
  assert.equal(sha256(await download(opened.body.url)), artifact.sha256);
}

/** A grant in the inbox of an agent. The request of the scenario names its sender. */
export async function arrangeNamedSender() {
  const [sender, reader] = await castOfTwo();
  await grant(sender, await publish(sender), { to: reader });
  const body = { agent_id: reader.id, from_agent: sender.id };
  return { reader, request: { as: reader, body } };
}

/** A grant for one download. `holds` asserts that a second download is refused. */
export async function arrangeOneDownload() {
  const [owner, reader] = await castOfTwo();
  const { artifact_id } = await publish(owner);
  const { token } = await grant(owner, { artifact_id }, { to: reader, max_downloads: 1 });
  const holds = async () => void assertError(await redeem(token), 410, "grant_used_up");
  return { reader, artifact_id, token, holds };
}
