/** What mesh-agent changes in a running tunnel, with every awk that a host may have. */
import assert from "node:assert/strict";
import { isLeftOutWithout } from "../left_out.ts";
import { run } from "../wireguard/hosts/run_program.ts";
import { Host } from "../wireguard/hosts/host.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { EXAMPLES } from "./agent_settings.ts";

const AWKS: [name: string, command: string, version: string[]][] = [
  ["mawk", "mawk", ["-W", "version"]],
  ["gawk", "gawk", ["--version"]],
  ["busybox", "busybox awk", ["--help"]],
];
/** More peers than one call of `wg set` can take. */
const MANY = 250;

interface Peer {
  readonly key: string;
  readonly psk: string;
  readonly addresses: string;
  readonly keepalive: string;
}

for (const [name, command, args] of AWKS) {
  if (await isLeftOutWithout(name, `Changes with ${name} are`, { args })) continue;
  tunnelTest(
    `${name}: peers that change, come, go and stay → only differences are set`,
    async () => {
      await using tunnel = await Tunnel.create(command);
      const [stays, rotated, moved, quiet, gone, added] = await makePeers(6) as Six;
      const runsBefore = [gone, stays, rotated, moved, quiet];
      await tunnel.set(runsBefore);
      const wanted = [
        added,
        { ...rotated, psk: await makePsk() },
        // The address of the peer that goes.
        { ...moved, addresses: gone.addresses },
        stays,
        { ...quiet, keepalive: "off" },
      ];

      const files = await tunnel.findChanges(wanted);
      assert.deepEqual(files.known, runsBefore.map(({ key }) => key).sort());
      assert.deepEqual(files.removals, [`peer ${gone.key} remove`]);
      assert.deepEqual(files.changes, [
        `peer ${added.key} preshared-key psks/1`,
        `peer ${rotated.key} preshared-key psks/2`,
        `peer ${moved.key} allowed-ips ${gone.addresses}`,
        `peer ${quiet.key} persistent-keepalive off`,
      ]);
      assert.deepEqual(files.greetings, [
        `peer ${added.key} allowed-ips ${added.addresses}`,
        `peer ${added.key} persistent-keepalive 25`,
      ]);

      await tunnel.apply();
      assert.deepEqual(await tunnel.peers(), sorted(wanted));
      assert.deepEqual(await tunnel.findChanges(wanted), {
        known: sorted(wanted).map(({ key }) => key),
        removals: [],
        changes: [],
        greetings: [],
      });
    },
  );

  tunnelTest(`${name}: ${MANY} peers, then others, then none → all are set`, async () => {
    await using tunnel = await Tunnel.create(command);
    for (const wanted of [await makePeers(MANY), await makePeers(MANY, { from: 1000 }), []]) {
      await tunnel.findChanges(wanted);
      await tunnel.apply();
      assert.deepEqual(await tunnel.peers(), sorted(wanted));
    }
  });
}

type Six = [Peer, Peer, Peer, Peer, Peer, Peer];

/** A WireGuard interface in its own namespace, and a folder for the changes that are found. */
class Tunnel implements AsyncDisposable {
  private constructor(
    readonly host: Host,
    readonly name: string,
    readonly awk: string,
  ) {}

  static async create(awk: string): Promise<Tunnel> {
    const name = `pc${crypto.randomUUID().slice(0, 8)}`;
    const host = await Host.create(name, null);
    const file = `${host.directory}/${name}.conf`;
    await Deno.writeTextFile(file, `[Interface]\nPrivateKey = ${await makePsk()}\n`, {
      mode: 0o600,
    });
    await host.run(["wg-quick", "up", file]);
    return new Tunnel(host, name, awk);
  }

  async set(peers: Peer[]): Promise<void> {
    await this.host.run(["wg", "addconf", this.name, "/dev/stdin"], { input: written(peers) });
  }

  async findChanges(wanted: Peer[]) {
    const script = `cd "$0" && rm -rf psks && mkdir psks && wg show "$1" dump |
      $2 -v folder=. -f "$3/mesh-agent/host/changes.awk" - new`;
    await Deno.writeTextFile(`${this.host.directory}/new`, written(wanted));
    const { host, name, awk } = this;
    await host.run(
      ["bash", "-euo", "pipefail", "-c", script, host.directory, name, awk, EXAMPLES],
    );
    const lines = async (name: string) =>
      (await Deno.readTextFile(`${this.host.directory}/${name}`)).split("\n").slice(0, -1);
    return {
      known: (await lines("known")).toSorted(),
      removals: await lines("removals"),
      changes: await lines("changes"),
      greetings: await lines("greetings"),
    };
  }

  /** Applies the changes as change_in_place and greet_new_peers do. */
  async apply(): Promise<void> {
    const script = `cd "$0" && xargs -r -n 300 wg set "$1" <removals &&
      cat changes greetings | xargs -r -n 400 wg set "$1"`;
    await this.host.run(["bash", "-euc", script, this.host.directory, this.name]);
  }

  /** The peers that the tunnel has. */
  async peers(): Promise<Peer[]> {
    const [, ...lines] = (await this.host.run(["wg", "show", this.name, "dump"])).trimEnd()
      .split("\n");
    return sorted(lines.map((line) => {
      const [key, psk, , addresses, , , , keepalive] = line.split("\t") as string[];
      return { key: key!, psk: psk!, addresses: addresses!, keepalive: keepalive! };
    }));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.host[Symbol.asyncDispose]();
  }
}

/** The sections of these peers in a configuration. */
function written(peers: Peer[]): string {
  return peers.map(({ key, psk, addresses, keepalive }) =>
    [
      "[Peer]",
      `PublicKey = ${key}`,
      `PresharedKey = ${psk}`,
      `AllowedIPs = ${addresses.replace(",", ", ")}`,
      ...(keepalive === "off" ? [] : [`PersistentKeepalive = ${keepalive}`]),
      "",
    ].join("\n")
  ).join("\n");
}

async function makePeers(count: number, { from = 2 } = {}): Promise<Peer[]> {
  const script = `for _ in $(seq "$0"); do wg genkey | wg pubkey; wg genpsk; done`;
  const keys = (await run(["bash", "-c", script, String(count)])).trimEnd().split("\n");
  return Array.from({ length: count }, (_, index) => ({
    key: keys[2 * index]!,
    psk: keys[2 * index + 1]!,
    addresses: `10.213.${(from + index) >> 8}.${(from + index) & 255}/32,fd00::${
      (from + index).toString(16)
    }/128`,
    keepalive: "25",
  }));
}

async function makePsk(): Promise<string> {
  return (await run(["wg", "genpsk"])).trim();
}

function sorted(peers: Peer[]): Peer[] {
  return peers.toSorted((one, other) => one.key < other.key ? -1 : 1);
}
