import assert from "node:assert/strict";
import {
  artifactTest,
  givenGrants,
  leavesUnchanged,
  publish,
  revoke,
  tryGrant,
} from "../artifacts.ts";
import { assertInvalid, operatorRpc, post } from "../client.ts";
import { newTag, setTags } from "./tagged.ts";

const LONGEST = `tag:${"a".repeat(63)}`;
const WRONG: readonly unknown[] = [
  "builder",
  "tag:",
  "tag:-a",
  "tag:Builder",
  "TAG:builder",
  "tag:a b",
  "tag:a\n",
  "tag:é",
  "tag:a:b",
  "#tag:a",
  `${LONGEST}a`,
  "",
  7,
  ["tag:a"],
];

artifactTest(
  "/grant, /revoke and /grants with a to_tag that is no tag → 422, and nothing changes",
  async ({ planner, builder }) => {
    await setTags(builder, "tag:a", LONGEST);
    const artifact = await publish(planner);
    assert.equal((await tryGrant(planner, artifact, { to_tag: LONGEST })).status, 200);
    const { artifact_id } = artifact;
    await leavesUnchanged([planner, builder], async () => {
      for (const to_tag of WRONG) {
        assertInvalid(await tryGrant(planner, artifact, { to_tag }), "to_tag");
        assertInvalid(await revoke(planner, { artifact_id, to_tag }), "to_tag");
        const body = { to_tag };
        assertInvalid(await post("/agent-artifacts/grants", { as: planner, body }), "to_tag");
      }
      assertInvalid(await tryGrant(planner, artifact, { to_tag: null }), "to_tag");
    });
    assert.equal((await revoke(planner, { artifact_id, to_tag: LONGEST })).body["revoked"], 1);
  },
);

artifactTest(
  "/grant, /revoke and /grants with to_agent and to_tag → 422, and nothing changes",
  async ({ planner, builder }) => {
    const tag = newTag();
    await setTags(builder, tag);
    const artifact = await publish(planner);
    await tryGrant(planner, artifact, { to_tag: tag });
    const both = { to_agent: builder.id, to_tag: tag };
    const { artifact_id } = artifact;
    await leavesUnchanged([planner, builder], async () => {
      assertInvalid(await tryGrant(planner, artifact, { to: builder, to_tag: tag }), "to_tag");
      assertInvalid(await revoke(planner, { artifact_id, ...both }), "to_tag");
      assertInvalid(await post("/agent-artifacts/grants", { as: planner, body: both }), "to_tag");
      assertInvalid(
        await revoke(planner, { artifact_id, to_agent: null, to_tag: null }),
        "to_agent",
      );
    });
    assert.equal((await givenGrants(planner)).grants.length, 1);
  },
);

artifactTest(
  "grant_artifact with an agent and a tag, past every check of the route → refused, and nothing is granted",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const answer = await operatorRpc("grant_artifact", {
      caller: { kind: "operator", request_id: "both" },
      artifact_id: artifact.artifact_id,
      to_agent: builder.id,
      to_tag: newTag(),
      expires_at: new Date(Date.now() + 600_000).toISOString(),
      grant_id: `grant_${crypto.randomUUID().replaceAll("-", "")}`,
      token_hash: "0".repeat(64),
      max_live_grants: 100,
    });
    assert.equal(answer.status, 400, JSON.stringify(answer.body));
    assert.deepEqual((await givenGrants(planner)).grants, []);
  },
);
