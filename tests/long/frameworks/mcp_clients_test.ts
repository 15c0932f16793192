/** What clients of MCP in Python can do beyond calling tools. */
import assert from "node:assert/strict";
import { createAgent } from "../../conformance/client.ts";
import { delimiter, join } from "node:path";
import { bundleCommandLine } from "../../../dev/clients/bundle.ts";
import { copySources } from "../../../dev/clients/client_sources.ts";
import { withFolder } from "../../../packages/agent-files/tests/folders/sample.ts";
import { program, runAs } from "./cast.ts";

Deno.test("mcp with the extension Tasks → a hand-over is polled until its answer is there; without it, and in the earlier protocol → answered at once", async () => {
  const agents = [await createAgent("planner"), await createAgent("builder")] as const;
  const { code, output, errors } = await runAs(agents, "mcp", [program("mcp_tasks.py")]);
  assert.equal(code, 0, output + errors);
  assert.equal(output, "passed\n");
});

Deno.test("mcp in both protocols, with agent-mesh → a rule of others is refused; two agents agree to one, and one revokes it", async () => {
  const agents = [await createAgent("planner"), await createAgent("builder")] as const;
  const { code, output, errors } = await runAs(agents, "mcp", [program("mcp_mesh.py")]);
  assert.equal(code, 0, output + errors);
  assert.equal(output, "passed\n");
});

Deno.test("fastmcp-tasks → its client polls a hand-over until its answer is there, by a handle and by itself; a cancelled one ends; in the earlier protocol → answered at once", async () => {
  const agents = [await createAgent("planner"), await createAgent("builder")] as const;
  const args = [program("tasks_of_fastmcp.py")];
  const { code, output, errors } = await runAs(agents, "fastmcp_tasks", args);
  assert.equal(code, 0, output + errors);
  assert.equal(output, "passed\n");
});

Deno.test("mcp in both protocols, and fastmcp, with agentfiles mcp → one agent hands a file over by its path, another takes and answers it", () =>
  withFolder(async (folder) => {
    await using sources = await copySources();
    await bundleCommandLine(sources.path, join(folder, "agentfiles"));
    const agents = [await createAgent("planner"), await createAgent("builder")] as const;
    const { code, output, errors } = await runAs(agents, "mcp", [program("mcp_by_paths.py")], {
      cwd: folder,
      environment: { PATH: [folder, Deno.env.get("PATH")].join(delimiter) },
    });
    assert.equal(code, 0, output + errors);
    assert.equal(output, "passed\n");
  }));
