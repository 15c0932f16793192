/** What clients of MCP in Python can do beyond calling tools. */
import assert from "node:assert/strict";
import { createAgent } from "../../conformance/client.ts";
import { program, runAs } from "./cast.ts";

Deno.test("mcp with the extension Tasks → a hand-over is polled until its answer is there; without it, and in the earlier protocol → answered at once", async () => {
  const agents = [await createAgent("planner"), await createAgent("builder")] as const;
  const { code, output, errors } = await runAs(agents, "mcp", [program("mcp_tasks.py")]);
  assert.equal(code, 0, output + errors);
  assert.equal(output, "passed\n");
});
