import assert from "node:assert/strict";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { createAgent, endCreatedAgents, functionUrl } from "../client.ts";
import { connect, type FunctionName, type Tool } from "./mcp_client.ts";

Deno.test.afterEach(endCreatedAgents);

/** Tools whose names differ from their operation's path. */
const OWN_NAMES: Readonly<Record<string, string>> = { "/register": "put", "/open": "get" };

/** The operation's fields that a tool leaves out. By default only `agent_id`, the caller's name. */
const HIDDEN: Readonly<Record<string, readonly string[]>> = {
  // Here `agent_id` names another agent, so the tool keeps it.
  "/open": [],
  // A grant to a tag is revoked by its `grant_id`. The operation ignores the others.
  "/grants": ["agent_id", "to_tag"],
  "/revoke": ["to_tag", "expires_at", "max_downloads", "token"],
  // `format` is for programs that are peers themselves.
  "/wg_config": ["agent_id", "format"],
};

interface JsonSchema {
  readonly properties?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly required?: readonly string[];
}

interface Described {
  readonly description: string;
  readonly requestBody: {
    readonly content: { readonly "application/json": { readonly schema: JsonSchema } };
  };
}

async function readOperations(name: FunctionName): Promise<Map<string, Described>> {
  const response = await fetch(functionUrl(`/${name}/openapi.json`));
  const { paths } = await response.json() as { paths: Record<string, { post?: Described }> };
  // A link has no body: browsers follow it.
  return new Map(
    Object.entries(paths).flatMap(([path, { post }]) => post?.requestBody ? [[path, post]] : []),
  );
}

async function readTools(name: FunctionName): Promise<Map<string, Tool>> {
  await using client = await connect(name, await createAgent("planner"));
  return new Map((await client.sdk.listTools()).tools.map((tool) => [tool.name, tool]));
}

/** The schema keywords that are compared. A tool may state fewer of them than the document. */
const KEPT = ["type", "enum", "minimum", "maximum", "maxItems"];

function kept(schema: object): object {
  const said = Object.entries(schema).filter(([rule]) => KEPT.includes(rule));
  return Object.fromEntries(said);
}

/** Operations for programs only. Instead of /wait, a model calls `inbox` and `events`. */
const NO_TOOLS = ["/wait", "/enroll", "/leave", "/relay"];

for (const name of ["agent-artifacts", "agent-mesh"] as const) {
  Deno.test(`the tools of ${name} → one for each operation that an agent may call and a model has use for, with its fields, but for those that name the caller`, async () => {
    const [operations, tools] = await Promise.all([readOperations(name), readTools(name)]);
    for (const [path, { description, requestBody }] of operations) {
      const isOperators = description.endsWith("Who may call it: the operator.");
      const toolName = OWN_NAMES[path] ?? path.slice(1).replaceAll("/", "_");
      const tool = tools.get(toolName);
      tools.delete(toolName);
      assert.equal(tool === undefined, isOperators || NO_TOOLS.includes(path), path);
      if (tool === undefined) continue;
      assert.ok(tool.description!.length > 20, path);
      const taken = tool.inputSchema.properties as Record<string, object>;
      const { properties = {}, required = [] } = requestBody.content["application/json"].schema;
      const missing = Object.keys(properties).filter((field) => !(field in taken));
      assert.deepEqual(
        missing,
        HIDDEN[path] ?? ("agent_id" in properties ? ["agent_id"] : []),
        path,
      );
      for (const [field, schema] of Object.entries(properties)) {
        if (missing.includes(field)) continue;
        for (const [rule, value] of Object.entries(kept(taken[field]!))) {
          assert.deepEqual(schema[rule], value, `${path}: ${field} ${rule}`);
        }
      }
      if (OWN_NAMES[path] === undefined && path !== "/grant" && path !== "/commit") {
        assert.deepEqual(tool.inputSchema.required, required, path);
      }
    }
    assert.deepEqual([...tools.keys()], name === "agent-artifacts" ? ["link"] : []);
  });

  Deno.test(`the list of tools of ${name} → at most 2,000 tokens, without numbers that only say "any"`, async () => {
    const list = JSON.stringify([...(await readTools(name)).values()]);
    const tokens = encode(list).length;
    assert.ok(tokens <= 2000, `${tokens} tokens`);
    assert.doesNotMatch(list, /9007199254740991|\$schema|"pattern"/);
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
  // These are neither read-only (`get` and `fetch` may count a download) nor destructive.
  for (const name of ["get", "fetch", "grant", "acl_put", "peer_heartbeat", "wg_config"]) {
    assert.ok(!reading.includes(name) && !named("destructiveHint").includes(name), name);
  }
  for (const name of ["put", "get", "fetch", "grant", "psk_rotate"]) {
    assert.ok(!named("idempotentHint").includes(name), name);
  }
  for (const name of ["commit", "revoke", "delete", "acl_put", "acl_revoke", "peer_heartbeat"]) {
    assert.ok(named("idempotentHint").includes(name), name);
  }
  // No tool reaches beyond this service.
  assert.deepEqual(named("openWorldHint"), []);
  // Without the hint, a host assumes that a tool is destructive, unless it is read-only.
  for (const [name, { annotations }] of tools) {
    assert.ok(annotations?.readOnlyHint || annotations?.destructiveHint !== undefined, name);
  }
});
