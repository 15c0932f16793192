import assert from "node:assert/strict";
import { createAgent, type JsonObject, post } from "../conformance/client.ts";
import { documentedBlock } from "./documentation.ts";

Deno.test("docs/artifacts.md, Errors → what /open of an unknown artifact answers", async () => {
  const shown = JSON.parse(await documentedBlock("docs/artifacts.md, Errors, 1"));
  const answer = await post<{ error: JsonObject }>("/agent-artifacts/open", {
    as: await createAgent("reader"),
    body: { artifact_id: `art_${"0".repeat(32)}` },
  });
  const { request_id } = answer.body.error;
  assert.deepEqual(answer.body, { error: { ...shown.error, request_id } });
  assert.equal(answer.headers.get("x-request-id"), request_id);
});
