/** The validators that a client generator creates from the function's document. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { createClient } from "@hey-api/openapi-ts";
import type { ZodObject } from "zod";
import {
  createAgent,
  endCreatedAgents,
  functionUrl,
  post,
} from "../../../tests/conformance/client.ts";

Deno.test.afterEach(endCreatedAgents);

const WITH_DOTS = ["..", "../secrets", "notes/..", "notes/../../secrets", "./notes", "notes/./a"];

const GOOD = ["notes", "notes/report.md", "...", "..notes", "notes..", "a..b/.hidden", "Ä/日本"];

Deno.test("the zod validators that @hey-api/openapi-ts makes of /openapi.json → refuse a key with .. in it as the function does, and accept others", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const served = await fetch(functionUrl("/agent-artifacts/openapi.json"));
    const input = join(folder, "openapi.json");
    await Deno.writeTextFile(input, await served.text());
    const path = join(folder, "generated");
    await createClient({ input, output: { path }, plugins: ["zod"], logs: { level: "silent" } });
    const { zRegisterBody } = await import(`file://${path}/zod.gen.ts`) as {
      readonly zRegisterBody: ZodObject;
    };
    const planner = await createAgent("planner");
    for (const [keys, isGood] of [[WITH_DOTS, false], [GOOD, true]] as const) {
      for (const key of keys) {
        const body = { agent_id: planner.id, key, mime: "text/plain", size: 0, ttl_days: 1 };
        const { success, error } = zRegisterBody.safeParse(body);
        assert.equal(success, isGood, key);
        if (!isGood) assert.deepEqual(error?.issues.map((issue) => issue.path), [["key"]], key);
        const answer = await post("/agent-artifacts/register", { as: planner, body });
        assert.equal(answer.status, isGood ? 200 : 422, key);
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
