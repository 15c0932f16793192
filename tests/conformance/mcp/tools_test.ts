import assert from "node:assert/strict";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import type { Effect } from "../../../supabase/functions/_shared/operations/operation.ts";
import type { Tool as ToolOfCard } from "../../operations/card.ts";
import { cardsOf, FUNCTIONS } from "../../operations/cards.ts";
import { createAgent, endCreatedAgents, functionUrl } from "../client.ts";
import { connect, type FunctionName, type Tool } from "./mcp_client.ts";

Deno.test.afterEach(endCreatedAgents);

interface JsonSchema {
  readonly properties?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly required?: readonly string[];
}

interface Described {
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

const HINTS: Readonly<Record<Effect, object>> = {
  reads: { readOnlyHint: true },
  adds: { destructiveHint: false },
  sets: { destructiveHint: false, idempotentHint: true },
  replaces: { destructiveHint: true, idempotentHint: true },
  renews: { destructiveHint: true },
};

/** `/peer/register` → `peer_register`. */
function nameOf(path: string, { name }: ToolOfCard): string {
  return name ?? path.slice(1).replaceAll("/", "_");
}

for (const name of FUNCTIONS) {
  Deno.test(`the tools of ${name} → one for each operation that an agent may call and a model has use for, with its fields, but for those that name the caller`, async () => {
    const [operations, tools] = await Promise.all([readOperations(name), readTools(name)]);
    for (const [path, { tool: card }] of cardsOf(name)) {
      if (typeof card === "string") continue;
      const tool = tools.get(nameOf(path, card));
      tools.delete(nameOf(path, card));
      assert.ok(tool, `${path} has no tool`);
      const { requestBody } = operations.get(path)!;
      assert.ok(tool.description!.length > 20, `${path}: its summary says too little to a model`);
      const taken = tool.inputSchema.properties as Record<string, object>;
      const { properties = {}, required = [] } = requestBody.content["application/json"].schema;
      const missing = Object.keys(properties).filter((field) => !(field in taken));
      assert.deepEqual(
        missing,
        card.hides ?? ("agent_id" in properties ? ["agent_id"] : []),
        path,
      );
      for (const [field, schema] of Object.entries(properties)) {
        if (missing.includes(field)) continue;
        for (const [rule, value] of Object.entries(kept(taken[field]!))) {
          assert.deepEqual(schema[rule], value, `${path}: ${field} ${rule}`);
        }
      }
      if (!card.requiresOthers) assert.deepEqual(tool.inputSchema.required ?? [], required, path);
    }
    // The rest: more tools of /grant.
    assert.deepEqual([...tools.keys()], name === "agent-artifacts" ? ["hand_over", "link"] : []);
  });

  Deno.test(`the list of tools of ${name} → at most 2,600 tokens, without numbers that only say "any"`, async () => {
    const list = JSON.stringify([...(await readTools(name)).values()]);
    const tokens = encode(list).length;

    assert.ok(tokens <= 2600, `${tokens} tokens`);
    assert.doesNotMatch(list, /9007199254740991|\$schema|"pattern"/);
  });
}

for (const name of FUNCTIONS) {
  Deno.test(`each tool of ${name} → an \`outputSchema\` with one field that its answers have`, async () => {
    for (const [tool, { outputSchema }] of await readTools(name)) {
      const { type, required } = outputSchema!;
      assert.deepEqual([type, required?.length], ["object", 1], tool);
    }
  });
}

Deno.test("annotations → which tools only read, which may take something away, which can be repeated", async () => {
  for (const name of FUNCTIONS) {
    const tools = await readTools(name);
    for (const [path, { tool: card }] of cardsOf(name)) {
      if (typeof card === "string") continue;
      // No tool reaches beyond this service.
      const expected = { ...HINTS[card.effect], openWorldHint: false };
      assert.deepEqual(tools.get(nameOf(path, card))!.annotations, expected, path);
    }
    // Without the hint, a host assumes that a tool is destructive, unless it is read-only.
    for (const [tool, { annotations }] of tools) {
      assert.ok(annotations?.readOnlyHint || annotations?.destructiveHint !== undefined, tool);
    }
  }
});
