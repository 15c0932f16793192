import assert from "node:assert/strict";
import type { Connection } from "../../../agent-files/http/connection.ts";
import type { Engine } from "../../mesh/engine/engine.ts";
import { Member } from "../../mesh/member.ts";
import { MeshError } from "../../mesh/mesh_error.ts";

interface Body {
  readonly pubkey: string;
  readonly endpoints?: readonly string[];
  readonly after?: string;
  readonly events_after?: string;
}

/** The part of the service through which the processes of one agent see each other. */
class Service {
  #row: { pubkey: string; endpoints: readonly string[]; updated_at: string } | null = null;
  readonly #events: { type: string; agent_id: string; pubkey: string; endpoint: string | null }[] =
    [];
  #wake = Promise.withResolvers<void>();
  /** Called with the path of each request before the service handles it. */
  before: (path: string) => Promise<void> = () => Promise.resolve();
  /** Called when the service has handled the request, before the answer arrives. */
  after: (path: string) => Promise<void> = () => Promise.resolve();

  connection(): Connection {
    return {
      agentId: "me",
      waitLength: { seconds: 140, isTooLong: () => false },
      signalOf: ({ signal }: { signal?: AbortSignal }) => signal,
      post: async (path: string, body: Body, { signal }: { signal?: AbortSignal } = {}) => {
        await this.before(path);
        signal?.throwIfAborted();
        const answer = await this.#answer(path, body, signal);
        await this.after(path);
        signal?.throwIfAborted();
        return answer;
      },
    } as unknown as Connection;
  }

  async #answer(path: string, body: Body, signal?: AbortSignal): Promise<object> {
    const latest = () => String(this.#events.length);
    switch (path) {
      case "/peer/register":
        return this.#register(body);
      case "/netmap":
        return { peers: [{ ...this.#row, self: true }] };
      case "/wg_config":
        return { agent_id: "me", config_version: 1, interface: {}, peers: [], rules: [] };
      case "/events":
        return { events: this.#events.slice(Number(body.after ?? "0")), latest: latest() };
      case "/wait":
        if (body.events_after === latest()) await this.#news(signal!);
        return {
          config_version: 1,
          events: { changed: body.events_after !== latest(), latest: latest() },
        };
      default:
        throw new Error(path);
    }
  }

  #register({ pubkey, endpoints = [] }: Body): object {
    const before = this.#row;
    if (before?.pubkey !== pubkey || before.endpoints.join() !== endpoints.join()) {
      this.#row = { pubkey, endpoints, updated_at: `registration ${this.#events.length}` };
      const type = before === null ? "peer.registered" : "peer.updated";
      this.#events.push({ type, agent_id: "me", pubkey, endpoint: endpoints[0] ?? null });
      this.#wake.resolve();
      this.#wake = Promise.withResolvers();
    }
    return { ...this.#row, agent_id: "me", name: "me", addresses: [] };
  }

  async #news(signal: AbortSignal): Promise<void> {
    const aborted = Promise.withResolvers<never>();
    signal.addEventListener("abort", () => aborted.reject(signal.reason));
    await Promise.race([this.#wake.promise, aborted.promise]);
  }
}

/** A process of the agent, and a function that moves it to other endpoints. */
async function join(service: Service, publicKey: string, ...endpoints: string[]) {
  let moveTo = (_endpoints: readonly string[]): void => {};
  const member = await Member.join({
    connection: service.connection(),
    engineOptions: { privateKey: new Uint8Array(32) },
    openEngine: (_options, { onEndpoints }) => {
      moveTo = onEndpoints;
      return Promise.resolve({
        publicKey,
        endpoints: () => Promise.resolve(endpoints),
        configure: () => Promise.resolve(),
        peers: () => [],
        close: () => Promise.resolve(),
      } as unknown as Engine);
    },
    signal: undefined,
    onChange: () => {},
  });
  return { member, moveTo: (...others: string[]) => moveTo(others) };
}

/** `superseded`, another error, or `still there` if the member has not ended after 50 ms. */
async function endOf(member: Member): Promise<string> {
  const quiet = new Promise<"still there">((resolve) => setTimeout(resolve, 50, "still there"));
  const end = await Promise.race([member.ended, quiet]);
  if (end === "still there") return end;
  return end instanceof MeshError ? end.code : String(end);
}

Deno.test("a second process registers before the first one has its answer → the first is superseded", async () => {
  const service = new Service();
  let second: Promise<{ readonly member: Member }> | undefined;
  service.after = async (path) => {
    if (path !== "/peer/register" || second !== undefined) return;
    second = join(service, "key of the second", "192.0.2.2:2");
    await second;
  };
  const first = await join(service, "key of the first", "192.0.2.1:1");
  const { member } = await second!;
  assert.equal(await endOf(first.member), "superseded");
  assert.equal(await endOf(member), "still there");
  await member.close();
});

Deno.test("a second process begins to join before the first one registers → the later one stays", async () => {
  const service = new Service();
  let first: Promise<{ readonly member: Member }> | undefined;
  // The first process joins as soon as the second one has its position in the events.
  service.after = async (path) => {
    if (path !== "/events" || first !== undefined) return;
    first = join(service, "key of the first", "192.0.2.1:1");
    await first;
  };
  const second = await join(service, "key of the second", "192.0.2.2:2");
  const { member } = await first!;
  assert.equal(await endOf(member), "superseded");
  assert.equal(await endOf(second.member), "still there");
  await second.member.close();
});

Deno.test("a process that registers again while it is superseded → one of the two stays", async () => {
  const service = new Service();
  const first = await join(service, "key of the first", "192.0.2.1:1");
  let isHeld = false;
  const late = Promise.withResolvers<void>();
  service.before = async (path) => {
    if (path !== "/peer/register" || isHeld) return;
    isHeld = true;
    await late.promise;
  };
  first.moveTo("192.0.2.9:9");
  const second = await join(service, "key of the second", "192.0.2.2:2");
  // Let the first process learn of the second before its delayed registration arrives.
  await new Promise((resolve) => setTimeout(resolve, 20));
  late.resolve();
  assert.deepEqual([await endOf(first.member), await endOf(second.member)], [
    "still there",
    "superseded",
  ]);
  await first.member.close();
});

for (
  const { what, ends } of [
    { what: "other first endpoints", ends: [["198.51.100.1:1"], ["198.51.100.2:2"]] },
    {
      what: "another relay's address behind the same first endpoint",
      ends: [["10.0.0.5:5", "198.51.100.1:1"], ["10.0.0.5:5", "198.51.100.2:2"]],
    },
  ] as const
) {
  Deno.test(`a clone with the same key and ${what} → the later one stays, the other is superseded`, async () => {
    const service = new Service();
    const one = await join(service, "their key", "10.0.0.5:5");
    const other = await join(service, "their key", "10.0.0.5:5");
    one.moveTo(...ends[0]);
    other.moveTo(...ends[1]);
    assert.equal(await endOf(one.member), "superseded");
    assert.equal(await endOf(other.member), "still there");
    await other.member.close();
  });
}

Deno.test("an answer to a registration gets lost → the process stays", async () => {
  const service = new Service();
  const { member, moveTo } = await join(service, "key", "192.0.2.1:1");
  service.after = (path) =>
    path === "/peer/register" ? Promise.reject(new Error("lost")) : Promise.resolve();
  moveTo("192.0.2.2:2");
  assert.equal(await endOf(member), "still there");
  await member.close();
});
