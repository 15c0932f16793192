import assert from "node:assert/strict";
import { createAgent, type JsonObject, post } from "../conformance/client.ts";
import { documentedBlock } from "./blocks/documentation.ts";
import { Terminal } from "./blocks/terminal.ts";

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

Deno.test("docs/artifacts.md, With curl → ends with the same bytes, and with a refusal", async () => {
  await using terminal = await Terminal.open();
  const printed = await terminal.paste(await documentedBlock("docs/artifacts.md, With curl, 1"));
  assert.ok(printed.includes("received what was sent"), printed);
  const fetched = printed.match(/First the cellar, then the roof\./g);
  assert.equal(fetched?.length, 1, "what /fetch led to");
  assert.match(printed, /"revoked" ?: ?1\b/);
  assert.ok(printed.trimEnd().includes('"code":"artifact_not_found"'), printed);
});
