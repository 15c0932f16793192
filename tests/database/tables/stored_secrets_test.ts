import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { grant, open, publish, redeem, sha256 } from "../../conformance/artifacts.ts";
import { createAgent, endCreatedAgents } from "../../conformance/client.ts";
import {
  endMadeEnrolments,
  enrol,
  newName,
  put,
  use,
} from "../../conformance/enrolment/enrolments.ts";
import { readEveryTable } from "./every_table.ts";

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

Deno.test("agent keys, an enrolment key and grant tokens that were made and used → in no table, in no spelling; their SHA-256 is", async () => {
  const [owner, reader] = [await createAgent("owner"), await createAgent("reader")];
  const { enrolment_key } = await put();
  const enrolled = await enrol({ enrolment_key, agent_name: newName("vm") });
  await use(enrolled);
  const artifact = await publish(owner);
  const [forReader, forAnyone] = [
    await grant(owner, artifact, { to: reader }),
    await grant(owner, artifact, {}),
  ];
  assert.equal((await open(reader, artifact)).status, 200);
  for (const { token } of [forReader, forAnyone]) {
    assert.equal((await redeem(token)).status, 200);
  }

  const tables = await readEveryTable();
  const stored = {
    "agents.keys": [owner.key, reader.key, enrolled.key],
    "agents.enrolments": [enrolment_key],
    "artifacts.grants": [forReader.token, forAnyone.token],
  };
  for (const [table, secrets] of Object.entries(stored)) {
    for (const secret of secrets) {
      assert.ok(tables.get(table)!.includes(sha256(secret)), `${table} has the hash`);
      for (const [name, text] of tables) {
        for (const spelling of spellingsOf(secret)) assert.ok(!text.includes(spelling), name);
      }
    }
  }
});

/** Its random part, and the bytes of the text and of the random part in hex. */
function spellingsOf(secret: string): string[] {
  const [prefix = ""] = /^[a-z]+_/.exec(secret) ?? [];
  const random = secret.slice(prefix.length);
  const bytes = Buffer.from(random, "base64url");
  return [random, ...[Buffer.from(random), bytes].map((each) => each.toString("hex"))];
}
