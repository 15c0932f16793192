/** Does each method of `AgentMesh` send its operation, for the agent, and return the answer? */
import assert from "node:assert/strict";
import { readDocument } from "../../operator/doctor/facts/openapi_document.ts";
import { AgentMesh } from "../index.ts";

const AGENT = "planner";
const ANSWER = { answered: true };

interface Described {
  readonly requestBody?: {
    readonly content: {
      readonly "application/json": { readonly schema: { readonly properties?: object } };
    };
  };
}

type Method = (this: AgentMesh, request: object) => unknown;

/** The methods that take and return the fields of one operation, by name. */
function methodsOf(mesh: AgentMesh): [name: string, method: Method][] {
  return Object.getOwnPropertyNames(AgentMesh.prototype).filter((name) => name !== "constructor")
    .map((name) => [name, mesh[name as keyof AgentMesh] as Method]);
}

Deno.test("each operation of agent-mesh → a method of AgentMesh sends it with the agent's identifier, and returns its answer", async () => {
  const { paths } = await readDocument("agent-mesh");
  const operations = new Map(
    Object.entries(paths).flatMap(([path, { post }]) => post ? [[path, post as Described]] : []),
  );
  assert.ok(operations.size > 10);
  const missing = new Set(operations.keys());
  const sent: [path: string, body: Readonly<Record<string, unknown>>][] = [];
  const mesh = new AgentMesh({
    url: "http://service.invalid",
    key: "ak_any",
    agentId: AGENT,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const path = new URL(request.url).pathname.replace("/functions/v1/agent-mesh", "");
      if (request.method === "POST") sent.push([path, await request.json()]);
      return Response.json(ANSWER);
    },
  });
  for (const [name, method] of methodsOf(mesh)) {
    sent.length = 0;
    const result = method.call(mesh, {});
    // A generator puts answers together: its own tests are in follow/ and mesh_test.ts.
    if (!(result instanceof Promise)) continue;
    assert.deepEqual(await result, ANSWER, name);
    for (const [path, body] of sent) {
      const fields = operations.get(path)?.requestBody?.content["application/json"].schema
        .properties;
      assert.equal(body["agent_id"], fields && "agent_id" in fields ? AGENT : undefined, name);
    }
    for (const [path] of sent) missing.delete(path);
  }
  // `/events` is a generator. Who has no agent key yet calls `enrol`.
  assert.deepEqual(
    [...missing].filter((path) => !["/events", "/enroll"].includes(path))
      .map((path) =>
        `agent-mesh ${path}: no method of packages/agent-files/agent_mesh.ts sends it`
      ),
    [],
  );
});
