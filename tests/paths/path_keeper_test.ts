/** The paths of `agentfiles mesh up` with a simulated kernel, and sockets that send nothing. */
import assert from "node:assert/strict";
import { join } from "node:path";
import type { KernelPeer, KernelState } from "../../packages/agent-peer/forwarding/kernel.ts";
import type { PathKeeperOptions } from "../../packages/agent-peer/forwarding/options.ts";
import { PathKeeper } from "../../packages/agent-peer/forwarding/path_keeper.ts";
import type { UdpOptions } from "../../packages/agent-peer/wireguard/sockets/udp_socket.ts";
import { message } from "../../packages/agent-peer/tests/forwarding/messages.ts";
import { eventually } from "../wireguard/hosts/run_program.ts";

const REGISTERED = "192.0.2.1:1000";

/** A kernel peer without a session. */
function peer(publicKey: string, changes: Partial<KernelPeer> = {}): KernelPeer {
  const silent = { endpoint: REGISTERED, lastHandshakeAt: null, receivedBytes: 0 };
  return { publicKey, ...silent, ...changes };
}

/** Runs a keeper with a simulated kernel. `peers` is null while the tunnel is down. */
class Keeping implements AsyncDisposable {
  peers: readonly KernelPeer[] | null;
  looks = 0;
  /** How many of the next looks see no peer. */
  emptyLooks = 0;
  readonly set: [publicKey: string, endpoint: string][] = [];
  /** The number of looks when each endpoint was set. */
  readonly setAfter: number[] = [];
  /** The number of open sockets when each endpoint was set. */
  readonly openAtSet: number[] = [];
  readonly news: string[] = [];
  /** Where datagrams were sent. */
  readonly sentTo: string[] = [];
  readonly #sockets = new Map<number, UdpOptions>();
  readonly #ended = new AbortController();
  readonly #runs: Promise<void>;

  private constructor(
    readonly folder: string,
    { peers, endpoints }: {
      readonly peers: readonly KernelPeer[];
      readonly endpoints: readonly string[];
    },
  ) {
    this.peers = peers;
    let nextPort = 4000;
    const configuration = {
      interface: { addresses: ["10.213.0.1/16"] },
      peers: ["a", "c"].map((name) => ({
        public_key: `${name}=`,
        name,
        endpoints,
        allowed_ips: ["10.213.0.2/32"],
        observed_endpoint: null,
      })),
    };
    const keeper = new PathKeeper({
      kernel: {
        state: () => Promise.resolve(this.#look()),
        setEndpoint: (publicKey, endpoint) => {
          this.set.push([publicKey, endpoint]);
          this.setAfter.push(this.looks);
          this.openAtSet.push(this.#sockets.size);
          this.peers = this.peers!.map((one) =>
            one.publicKey === publicKey ? { ...one, endpoint } : one
          );
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
      onNews: ({ peer, via }) => Promise.resolve(void this.news.push(`${peer} ${via}`)),
      onTrouble: (message) => assert.fail(message),
      openSocket: (options) => {
        const port = nextPort++;
        this.#sockets.set(port, options);
        return Promise.resolve({
          via: options.via,
          port,
          families: ["ipv4"],
          send: (_, { address, port }) => void this.sentTo.push(`${address}:${port}`),
          close: () => void this.#sockets.delete(port),
        });
      },
    });
    this.#runs = keeper.run(this.#ended.signal);
  }

  static async start(
    { peers, endpoints, configuration = "" }: {
      readonly peers: readonly KernelPeer[];
      /** The endpoints of each peer, as the service reports them. */
      readonly endpoints: readonly string[];
      /** The content of the agent's configuration file. */
      readonly configuration?: string;
    },
  ): Promise<Keeping> {
    const folder = await Deno.makeTempDir({ prefix: "path-keeper-" });
    await Deno.writeTextFile(join(folder, "mesh0.conf"), configuration);
    return new Keeping(folder, { peers, endpoints });
  }

  #look(): KernelState | null {
    this.looks++;
    const peers = this.emptyLooks-- > 0 ? [] : this.peers;
    return peers && { publicKey: "own=", listenPort: 51820, peers };
  }

  /** The kernel sends a handshake to the port of the only peer. */
  initiate(): void {
    const [[, endpoint]] = this.set as [[string, string]];
    const port = this.#sockets.get(Number(endpoint.split(":")[1]))!;
    port.onDatagram(message(1, 7), { address: "127.0.0.1", port: 51820, via: port.via });
  }

  /**
   * The kernel sends a handshake to the port of the only peer, which answers at REGISTERED, to the
   * socket that it was not told of.
   */
  meet(): void {
    const [[publicKey, endpoint]] = this.set as [[string, string]];
    const port = this.#sockets.get(Number(endpoint.split(":")[1]))!;
    const stranger = [...this.#sockets.values()].find(({ via }) => via.startsWith("stranger"))!;
    const [address, number] = REGISTERED.split(":") as [string, string];
    const kernel = { address: "127.0.0.1", port: 51820, via: port.via };
    this.initiate();
    const from = { address, port: Number(number), via: stranger.via };
    stranger.onDatagram(message(2, 9, 7), from);
    port.onDatagram(message(4, 9), kernel);
    this.peers = [peer(publicKey, { endpoint, lastHandshakeAt: Date.now(), receivedBytes: 92 })];
  }

  /** The kernel hears the only peer at this endpoint. */
  hear(endpoint: string): void {
    this.peers = this.peers!.map((one) => ({
      ...one,
      endpoint,
      receivedBytes: one.receivedBytes + 32,
    }));
  }

  stateFile(): Promise<string> {
    return Deno.readTextFile(join(this.folder, "mesh0.path"));
  }

  async untilSet(count: number): Promise<void> {
    await eventually(`${count} endpoints are set`, {
      condition: () => Promise.resolve(this.set.length === count),
    });
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    await this.#runs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await Deno.remove(this.folder, { recursive: true });
  }
}

Deno.test("a forwarded peer has another key, then the tunnel restarts → it keeps its port, then soon has one again", async () => {
  await using keeping = await Keeping.start({ peers: [peer("a=")], endpoints: [REGISTERED] });
  const { set, news } = keeping;
  await keeping.untilSet(1);
  const [[first, port]] = set as [[string, string]];
  assert.equal(first, "a=");
  assert.match(port, /^127\.0\.0\.1:\d+$/);

  const alive = { endpoint: port, lastHandshakeAt: Date.now(), receivedBytes: 92 };
  keeping.peers = [peer("c=", alive)];
  await eventually("the other key is forwarded", {
    condition: async () => (await keeping.stateFile()).includes(`c= ${port}`),
  });
  assert.deepEqual([set.length, news], [1, ["a released"]]);

  keeping.peers = null;
  await eventually("its port is closed", {
    condition: () => Promise.resolve(news.includes("c released")),
  });
  keeping.peers = [peer("c=")];
  const before = keeping.looks;
  await keeping.untilSet(2);
  assert.equal(set[1]![0], "c=");
  // A peer that was never forwarded would get a port at the 7th look. A look may be under way.
  const looks = keeping.setAfter[1]! - before;
  assert.ok(looks <= 5, `${looks} looks`);
  assert.ok(keeping.openAtSet[1]! > 0);
  await keeping.stop();
  assert.deepEqual(set.at(-1), ["c=", REGISTERED]);
  const openAtLast = keeping.openAtSet.at(-1);
  assert.equal(openAtLast, 0, "what a socket still forwards would change the endpoint again");
});

Deno.test("neither side has an endpoint → a port at the first look, and no path after a while; one side has one → no port", async () => {
  const cases = ["", "ListenPort = 51820\n", "#name a= endpoint a.example:51820\n"];
  await Promise.all(cases.map(async (lines) => {
    await using keeping = await Keeping.start({
      peers: [peer("a=", { endpoint: null })],
      endpoints: [],
      configuration: `PublicKey = a=\n${lines}`,
    });
    await eventually("a path is sought", {
      condition: async () => (await keeping.stateFile().catch(() => "")).includes("seeking a=\n"),
    });
    assert.deepEqual(keeping.setAfter, lines === "" ? [1] : []);
    await eventually("it says that there is no path", {
      condition: () => Promise.resolve(keeping.news.includes("a none")),
    });
    await eventually("the file says so", {
      condition: async () => !(await keeping.stateFile()).includes("seeking"),
    });
    assert.equal(keeping.set.length, lines === "" ? 1 : 0);
  }));
});

Deno.test("a peer is removed and added again → it keeps its port; it stays away → its port is closed", async () => {
  await using keeping = await Keeping.start({ peers: [peer("a=")], endpoints: [REGISTERED] });
  await keeping.untilSet(1);
  keeping.emptyLooks = 1;
  const { looks } = keeping;
  await eventually("it has looked three times", {
    condition: () => Promise.resolve(keeping.looks > looks + 3),
  });
  assert.deepEqual([keeping.news, keeping.set.length], [[], 1]);
  keeping.emptyLooks = 2;
  await eventually("its port is closed", {
    condition: () => Promise.resolve(keeping.news.includes("a released")),
  });
});

Deno.test("a peer answers the socket that it was not told of → it is returned, and its port closed when it is heard; not if it moves, or at the end", async () => {
  const elsewhere = "198.51.100.9:51820";
  await Promise.all([REGISTERED, elsewhere, null].map(async (heardAt) => {
    await using keeping = await Keeping.start({ peers: [peer("a=")], endpoints: [REGISTERED] });
    const { set, news } = keeping;
    await keeping.untilSet(1);
    keeping.meet();
    await keeping.untilSet(2);
    const { looks } = keeping;
    await eventually("it was seen there", {
      condition: () => Promise.resolve(keeping.looks > looks + 1),
    });
    assert.ok(!news.includes("a released"));
    assert.equal(keeping.sentTo.filter((place) => place === "10.213.0.2:9").length, 1);
    if (heardAt !== null) {
      keeping.hear(heardAt);
      await eventually("its port is closed", {
        condition: () => Promise.resolve(news.includes("a released")),
      });
      assert.equal(keeping.peers![0]!.endpoint, heardAt);
    }
    await keeping.stop();
    assert.deepEqual(set.slice(1), [["a=", REGISTERED]]);
  }));
});

Deno.test("the kernel's endpoint of a peer is inside the mesh → its handshake is not sent there", async () => {
  const inside = "10.213.0.2:51820";
  await using keeping = await Keeping.start({
    peers: [peer("a=", { endpoint: inside })],
    endpoints: [REGISTERED],
  });
  await keeping.untilSet(1);
  keeping.initiate();
  await eventually("the handshake is sent", {
    condition: () => Promise.resolve(keeping.sentTo.includes(REGISTERED)),
  });
  assert.ok(!keeping.sentTo.includes(inside));
});
