import assert from "node:assert/strict";
import { AgentError } from "../../../clients/typescript/src/errors/agent_error.ts";
import type { Connection } from "../../../clients/typescript/src/http/connection.ts";
import { Registration } from "../../../clients/typescript/src/mesh/service/registration.ts";

const MESH = "10.213.";

/** The service's answers to registrations, as it gives them for addresses inside the mesh. */
function service() {
  const sent: string[][] = [];
  const post = (_path: string, body: { endpoint: string | null; endpoints?: string[] }) => {
    const { endpoint, endpoints = [] } = body;
    sent.push(endpoints);
    assert.equal(endpoint, endpoints[0] ?? null);
    const path = endpoint?.startsWith(MESH) ? "endpoint" : "endpoints";
    if (!endpoints.some((one) => one.startsWith(MESH))) return Promise.resolve(body);
    const details = { issues: [{ path, message: "Inside the mesh." }] };
    return Promise.reject(
      new AgentError({ code: "invalid_request", message: "", status: 422, details }),
    );
  };
  const connection = { agentId: "me", post } as unknown as Connection;
  return { registration: new Registration(connection, "my-key"), sent };
}

Deno.test("endpoints that the service refuses → left out, and the others are registered", async () => {
  for (
    const [endpoints, registered] of [
      [["192.0.2.1:5"], ["192.0.2.1:5"]],
      [["10.213.0.1:5", "192.0.2.1:5"], ["192.0.2.1:5"]],
      [["192.0.2.1:5", "10.213.0.1:5"], ["192.0.2.1:5"]],
      [["10.213.0.1:5", "10.213.0.2:5"], []],
      [[], []],
    ]
  ) {
    const { registration, sent } = service();
    await registration.register(endpoints!);
    assert.deepEqual(sent.at(-1), registered);
  }
});

Deno.test("a refusal for another reason → thrown, after one request", async () => {
  const error = new AgentError({ code: "pubkey_in_use", message: "", status: 409 });
  let requests = 0;
  const post = () => {
    requests += 1;
    return Promise.reject(error);
  };
  const registration = new Registration({ post } as unknown as Connection, "my-key");
  await assert.rejects(registration.register(["192.0.2.1:5"]), error);
  assert.equal(requests, 1);
});
