import assert from "node:assert/strict";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { createAgent, endCreatedAgents, functionUrl } from "../client.ts";
import { connect, type FunctionName, type Tool } from "./mcp_client.ts";

Deno.test.afterEach(endCreatedAgents);

/** The tools whose names are not their operation's. */
const OWN_NAMES: Readonly<Record<string, string>> = { "/register": "put", "/open": "get" };

/** What a tool leaves out of its operation's fields, where that is not the caller's own name. */
const HIDDEN: Readonly<Record<string, readonly string[]>> = {
  // There, it is another agent.
  "/open": [],
  // A grant to a tag ends by its `grant_id`; the operation ignores `expires_at`, too.
  "/grants": ["agent_id", "to_tag"],
  "/revoke": ["to_tag", "expires_at"],
  // For programs that are peers themselves.
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
  // A link is followed by a browser, without a body.
  return new Map(
    Object.entries(paths).flatMap(([path, { post }]) => post?.requestBody ? [[path, post]] : []),
  );
}

async function readTools(name: FunctionName): Promise<Map<string, Tool>> {
  await using client = await connect(name, await createAgent("planner"));
  return new Map((await client.sdk.listTools()).tools.map((tool) => [tool.name, tool]));
}

/** What a tool says of a field: less than the document, and nothing else. */
const KEPT = ["type", "enum", "minimum", "maximum", "maxItems"];

function kept(schema: object): object {
  const said = Object.entries(schema).filter(([rule]) => KEPT.includes(rule));
  return Object.fromEntries(said);
}

/** What programs hold: a conversation has `inbox` and `events` for what it tells. */
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
  // A host takes what is left out for destructive, unless the tool only reads.
  for (const [name, { annotations }] of tools) {
    assert.ok(annotations?.readOnlyHint || annotations?.destructiveHint !== undefined, name);
  }
});
