import assert from "node:assert/strict";
import { createAgent, endCreatedAgents, functionUrl } from "../client.ts";
import { connect, type FunctionName, type Tool } from "./mcp_client.ts";

Deno.test.afterEach(endCreatedAgents);

/** The tools that do more than their operation, and the operation. */
const OWN_TOOLS: Readonly<Record<string, string>> = {
  put: "/register",
  commit: "/commit",
  inbox: "/inbox",
  get: "/open",
  fetch: "/fetch",
  grant: "/grant",
  wg_config: "/wg_config",
};

interface JsonSchema {
  readonly properties?: object;
  readonly required?: readonly string[];
}

interface Described {
  readonly summary: string;
  readonly description: string;
  readonly requestBody: {
    readonly content: { readonly "application/json": { readonly schema: JsonSchema } };
  };
}

async function readOperations(name: FunctionName): Promise<Map<string, Described>> {
  const response = await fetch(functionUrl(`/${name}/openapi.json`));
  const { paths } = await response.json() as { paths: Record<string, { post?: Described }> };
  return new Map(Object.entries(paths).flatMap(([path, { post }]) => post ? [[path, post]] : []));
}

async function readTools(name: FunctionName): Promise<Map<string, Tool>> {
  await using client = await connect(name, await createAgent("planner"));
  return new Map((await client.sdk.listTools()).tools.map((tool) => [tool.name, tool]));
}

for (const name of ["agent-artifacts", "agent-mesh"] as const) {
  Deno.test(`the tools of ${name} → one for each operation that an agent may call, by its summary and its fields`, async () => {
    const [operations, tools] = await Promise.all([readOperations(name), readTools(name)]);
    for (const [path, { summary, description, requestBody }] of operations) {
      const isOperators = description.endsWith("Who may call it: the operator.");
      const ownTool = Object.keys(OWN_TOOLS).find((tool) => OWN_TOOLS[tool] === path);
      const toolName = ownTool ?? path.slice(1).replaceAll("/", "_");
      const tool = tools.get(toolName);
      tools.delete(toolName);
      assert.equal(tool === undefined, isOperators, path);
      if (tool === undefined) continue;
      const { properties = {}, required = [] } = requestBody.content["application/json"].schema;
      if (ownTool === undefined) {
        assert.ok(tool.description?.startsWith(summary), path);
        assert.deepEqual(tool.inputSchema.properties, properties, path);
        assert.deepEqual(tool.inputSchema.required, required, path);
        continue;
      }
      const taken = tool.inputSchema.properties as Record<string, unknown>;
      for (const [field, schema] of Object.entries(properties)) {
        assert.deepEqual(taken[field], schema, `${path}: ${field}`);
      }
    }
    assert.deepEqual([...tools.keys()], []);
  });
}

Deno.test("annotations → which tools only read, which may take something away, which can be repeated", async () => {
  const tools = [...await readTools("agent-artifacts"), ...await readTools("agent-mesh")];
  const named = (hint: string) =>
    tools.filter(([, { annotations }]) => annotations?.[hint] === true).map(([name]) => name);
  const reading = named("readOnlyHint");
  for (const name of ["inbox", "list", "netmap"]) assert.ok(reading.includes(name), name);
  const taking = [
    "put",
    "commit",
    "revoke",
    "delete",
    "acl_revoke",
    "peer_register",
    "peer_remove",
  ];
  for (const name of [...taking, "psk_rotate"]) assert.ok(named("destructiveHint").includes(name));
  // A download may be counted.
  for (const name of ["get", "fetch", "grant", "acl_put", "peer_heartbeat", "wg_config"]) {
    assert.ok(!reading.includes(name) && !named("destructiveHint").includes(name), name);
  }
  for (const name of ["put", "get", "fetch", "grant", "psk_rotate"]) {
    assert.ok(!named("idempotentHint").includes(name), name);
  }
  for (const name of ["commit", "revoke", "delete", "acl_put", "acl_revoke", "peer_heartbeat"]) {
    assert.ok(named("idempotentHint").includes(name), name);
  }
  // Nothing reaches beyond this service.
  assert.deepEqual(named("openWorldHint"), []);
});
