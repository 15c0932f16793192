import assert from "node:assert/strict";
import { AgentError } from "../../../agent-files/errors/agent_error.ts";
import type { Connection } from "../../../agent-files/http/connection.ts";
import { Registration } from "../../mesh/service/registration.ts";

const MESH = "10.213.";

/** A service that refuses endpoints inside the mesh, as the real one does. */
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

Deno.test("isNewest: the registration that /netmap shows was this process's own when it was read → true, although a later one was answered before it", async () => {
  let registered = { updated_at: "", pubkey: "my-key", self: true, endpoints: [] as string[] };
  const held: (() => void)[] = [];
  let clock = 0;
  const post = async (path: string, { endpoints = [] }: { endpoints?: string[] }) => {
    if (path === "/netmap") {
      const peers = [registered];
      await new Promise<void>((resolve) => held.push(resolve));
      return { peers };
    }
    return registered = { ...registered, endpoints, updated_at: `at ${++clock}` };
  };
  const registration = new Registration({ post } as unknown as Connection, "my-key");
  await registration.register(["192.0.2.1:5"]);

  /** Answers every /netmap request while `asked` is pending, earlier ones included. */
  const answered = async (asked: Promise<boolean>) => {
    const releasing = setInterval(() => held.pop()?.());
    return await asked.finally(() => clearInterval(releasing));
  };

  const asked = registration.isNewest();
  await registration.register(["192.0.2.1:5", "192.0.2.2:5"]);
  assert.equal(await answered(asked), true);
  assert.equal(await answered(registration.isNewest()), true);

  registered = { ...registered, updated_at: "by a copy of this process" };
  assert.equal(await answered(registration.isNewest()), false);
});
