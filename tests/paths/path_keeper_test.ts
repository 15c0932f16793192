/** `agentfiles mesh path` with a simulated kernel, and sockets that send nothing. */
import assert from "node:assert/strict";
import { join } from "node:path";
import type { KernelPeer, KernelState } from "../../clients/typescript/src/forwarding/kernel.ts";
import {
  PathKeeper,
  type PathKeeperOptions,
} from "../../clients/typescript/src/forwarding/path_keeper.ts";
import { eventually } from "../wireguard/hosts/command.ts";

const REGISTERED = "192.0.2.1:1000";

/** A kernel peer without a session. */
function peer(publicKey: string, changes: Partial<KernelPeer> = {}): KernelPeer {
  const silent = { endpoint: REGISTERED, lastHandshakeAt: null, receivedBytes: 0 };
  return { publicKey, ...silent, ...changes };
}

Deno.test("a forwarded peer has another key, then the tunnel restarts → it keeps its port, then has one at the second look", async () => {
  const folder = await Deno.makeTempDir({ prefix: "path-keeper-" });
  const ended = new AbortController();
  let peers: readonly KernelPeer[] | null = [peer("a=")];
  let looks = 0;
  let nextPort = 4000;
  let openSockets = 0;
  // The numbers of looks and of open sockets when the kernel last got an endpoint.
  let [looksAtLast, openAtLast] = [0, 0];
  const set: [publicKey: string, endpoint: string][] = [];
  const news: string[] = [];
  const configuration = {
    interface: { addresses: ["10.213.0.1/16"] },
    peers: ["a", "c"].map((name) => ({
      public_key: `${name}=`,
      name,
      endpoints: [REGISTERED],
      observed_endpoint: null,
    })),
  };
  const keeper = new PathKeeper({
    kernel: {
      state() {
        looks++;
        const state: KernelState | null = peers &&
          { publicKey: "own=", listenPort: 51820, peers };
        return Promise.resolve(state);
      },
      setEndpoint(publicKey, endpoint) {
        set.push([publicKey, endpoint]);
        [looksAtLast, openAtLast] = [looks, openSockets];
        peers = peers!.map((one) => one.publicKey === publicKey ? { ...one, endpoint } : one);
        return Promise.resolve();
      },
    },
    service: {
      configuration: () => Promise.resolve(configuration),
      relay: () => Promise.resolve(null),
    } as unknown as PathKeeperOptions["service"],
    stateFile: join(folder, "mesh0.path"),
    configurationFile: join(folder, "mesh0.conf"),
    stunServers: [],
    onNews: ({ peer, via }) => Promise.resolve(void news.push(`${peer} ${via}`)),
    onTrouble: (message) => assert.fail(message),
    openSocket({ via, port }) {
      openSockets++;
      return Promise.resolve({
        via,
        port: port === 0 ? nextPort++ : port,
        families: ["ipv4"],
        send: () => {},
        close: () => void openSockets--,
      });
    },
  });
  const runs = keeper.run(ended.signal);
  try {
    const isSet = (count: number) => ({ condition: () => Promise.resolve(set.length === count) });
    await eventually("the peer has a port", isSet(1));
    const [[first, port]] = set as [[string, string]];
    assert.equal(first, "a=");
    assert.match(port, /^127\.0\.0\.1:\d+$/);

    const alive = { endpoint: port, lastHandshakeAt: Date.now(), receivedBytes: 92 };
    peers = [peer("c=", alive)];
    await eventually("the other key is forwarded", {
      condition: async () =>
        (await Deno.readTextFile(join(folder, "mesh0.path"))).includes(`c= ${port}`),
    });
    assert.deepEqual([set.length, news], [1, ["a released"]]);

    peers = null;
    await eventually("its port is closed", {
      condition: () => Promise.resolve(news.includes("c released")),
    });
    peers = [peer("c=")];
    const before = looks;
    await eventually("it has a port again", isSet(2));
    assert.equal(set[1]![0], "c=");
    assert.ok(openAtLast > 0);
    // A peer that was never forwarded would get a port at the third look.
    assert.ok(looksAtLast - before <= 2, `${looksAtLast - before} looks`);
  } finally {
    ended.abort();
    await runs;
    await Deno.remove(folder, { recursive: true });
  }
  assert.deepEqual(set.at(-1), ["c=", REGISTERED]);
  assert.equal(openAtLast, 0, "what a socket still forwards would change the endpoint again");
});
