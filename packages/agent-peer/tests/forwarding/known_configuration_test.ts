import assert from "node:assert/strict";
import type { MeshConfiguration } from "../../../agent-files/contract/types.ts";
import { KnownConfiguration } from "../../forwarding/service.ts";

function configurationOf(...names: string[]): MeshConfiguration {
  const lists = { endpoints: [], allowed_ips: [] };
  const peers = names.map((name) => ({ public_key: `${name}=`, name, ...lists }));
  return { interface: { addresses: ["10.213.0.1/16"] }, peers } as unknown as MeshConfiguration;
}

/** A KnownConfiguration whose service answers as the test says. */
function asking() {
  const requests: PromiseWithResolvers<MeshConfiguration>[] = [];
  const said: (string | null)[] = [];
  let now = 0;
  const known = new KnownConfiguration({
    service: {
      configuration() {
        const answer = Promise.withResolvers<MeshConfiguration>();
        requests.push(answer);
        return answer.promise;
      },
    },
    now: () => now,
    onAnswer: (error) => void said.push(error === null ? null : (error as Error).message),
  });
  /** Refreshes every two seconds and answers each request. Returns the number of requests. */
  async function refreshFor(
    seconds: number,
    { version = "1", wanting = "", answer = () => configurationOf("a") }: {
      readonly version?: string;
      readonly wanting?: string;
      readonly answer?: () => MeshConfiguration;
    },
  ): Promise<number> {
    const before = requests.length;
    for (const end = now + seconds * 1000; now < end; now += 2000) {
      const count = requests.length;
      const asked = known.refresh(version, wanting);
      if (requests.length > count) {
        try {
          requests.at(-1)!.resolve(answer());
        } catch (error) {
          requests.at(-1)!.reject(error);
        }
      }
      await asked;
    }
    return requests.length - before;
  }
  return { known, said, refreshFor, requests };
}

Deno.test("another version → asked once; a peer without a way → ever more rarely, and often again for another", async () => {
  const { refreshFor } = asking();
  assert.equal(await refreshFor(600, {}), 1);
  assert.equal(await refreshFor(600, { version: "2" }), 1);
  assert.equal(await refreshFor(100, { version: "2", wanting: "a=" }), 3);
  const inAnHour = await refreshFor(3600, { version: "2", wanting: "a=" });
  assert.ok(inAnHour < 12, String(inAnHour));
  assert.equal(await refreshFor(22, { version: "2", wanting: "b=" }), 2);
});

Deno.test("a service that is unreachable, or answers nonsense → the known configuration stays; asked again until there is an answer", async () => {
  const { known, said, refreshFor } = asking();
  await refreshFor(2, {});
  const nonsense: [() => unknown, RegExp][] = [
    [() => {
      throw new Error("The service is away.");
    }, /away/],
    [() => ({ interface: { addresses: ["everything"] }, peers: [] }), /not an IP network/],
    [() => ({ interface: { addresses: [] } }), /undefined/],
    [() => ({ interface: { addresses: [] }, peers: [{ public_key: 7, endpoints: [] }] }), /peers/],
    [() => ({
      interface: { addresses: [] },
      peers: [{ public_key: "a=", name: "a", endpoints: [] }],
    }), /peers/],
  ];
  for (const [index, [answer, sentence]] of nonsense.entries()) {
    const requests = await refreshFor(60, {
      version: String(index + 2),
      answer: answer as () => MeshConfiguration,
    });
    assert.ok(requests >= 5 && requests <= 6, String(requests));
    assert.match(said.at(-1)!, sentence);
    assert.deepEqual(known.peers.map(({ name }) => name), ["a"]);
    assert.equal(known.inside.length, 1);
  }
  await refreshFor(20, { version: "9", answer: () => configurationOf("b") });
  assert.equal(said.at(-1), null);
  assert.deepEqual(known.peers.map(({ name }) => name), ["b"]);
});

Deno.test("a request that is under way → no other one", () => {
  const { known, requests } = asking();
  const first = known.refresh("1", "");
  assert.equal(known.refresh("2", "a="), first);
  assert.equal(requests.length, 1);
});
