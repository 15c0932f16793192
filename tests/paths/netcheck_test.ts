/** `agentfiles mesh netcheck` behind every kind of router, and where nothing leads out. */
import assert from "node:assert/strict";
import { createAgent } from "../conformance/client.ts";
import { documentedBlock } from "../docs/blocks/documentation.ts";
import { PROGRAM } from "../mesh_up/hosts/command_line.ts";
import { UNPRIVILEGED } from "../sandbox/hosts/programs.ts";
import type { Host } from "../wireguard/hosts/host.ts";
import { Internet } from "../wireguard/hosts/internet.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { SERVICE_ORIGIN, ServiceDoor } from "../wireguard/hosts/service_door.ts";
import { RelayHost } from "./hosts/relay_host.ts";
import { addSite, type Site, type SiteHost } from "./hosts/sites.ts";

interface Trial {
  readonly transport: string;
  readonly isByProxy: boolean;
  readonly works: boolean;
}

interface Checked {
  readonly cause: string;
  readonly works: boolean;
  readonly sentence: string;
  readonly facts: { readonly nat: string | null; readonly relays: readonly Trial[] };
  readonly code: number;
  /** The report for people. */
  readonly text: string;
}

/** Hosts with a service, and a relay that the service names. */
class Checks implements AsyncDisposable {
  private constructor(
    readonly internet: Internet,
    readonly relay: RelayHost,
    private readonly stack: AsyncDisposableStack,
  ) {}

  static async create(): Promise<Checks> {
    await using stack = new AsyncDisposableStack();
    const internet = stack.use(await Internet.create());
    const relay = await RelayHost.start(await internet.addHost("relay"));
    const authority = `${relay.host.directory}/netcheck.pem`;
    await Deno.writeTextFile(authority, relay.authority);
    await Deno.chmod(relay.host.directory, 0o755);
    return new Checks(internet, relay, stack.move());
  }

  async site(name: string, site: Site): Promise<{ at: SiteHost; door: ServiceDoor }> {
    const at = await addSite(this.internet, name, site);
    const door = this.stack.use(await ServiceDoor.open(at.host));
    door.replaceAnswers({ "/relay": this.relay.answer() });
    return { at, door };
  }

  async check(
    { host, proxy }: { readonly host: Host; readonly proxy: string | null },
    args: readonly string[] = [],
  ): Promise<Checked> {
    const settings = [
      `AGENT_URL=${SERVICE_ORIGIN}`,
      `AGENT_KEY=${(await createAgent("netcheck")).key}`,
      "NO_COLOR=1",
      `NODE_EXTRA_CA_CERTS=${this.relay.host.directory}/netcheck.pem`,
      ...(proxy === null ? [] : [`HTTPS_PROXY=${proxy}`, "NO_PROXY=127.0.0.1"]),
    ];
    // As a user without rights pastes it, where `agentfiles` is on the PATH.
    const [, verb] = /^agentfiles (.*)\n?$/.exec(
      await documentedBlock("docs/sandbox.md, Check the network, 1"),
    )!;
    const command = ["env", ...settings, ...UNPRIVILEGED, ...PROGRAM, ...verb!.split(" "), ...args];
    const [json, text] = await Promise.all([
      host.runAnyhow([...command, "--json"]),
      host.runAnyhow(command),
    ]);
    assert.match(json.output, /^\{/, json.errors);
    assert.equal(text.code, json.code, text.errors);
    return { ...JSON.parse(json.output), code: json.code, text: text.output };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stack[Symbol.asyncDispose]();
  }
}

const ways = ({ facts }: Checked) =>
  facts.relays.filter(({ works }) => works)
    .map(({ transport, isByProxy }) => isByProxy ? `${transport} by proxy` : transport);

tunnelTest(
  "mesh netcheck behind every router → the kind of NAT, the ways to the relay, and 0, because a path is possible",
  async () => {
    await using checks = await Checks.create();
    const direct = ["udp", "tcp", "tls"];
    const expected: readonly (readonly [Site, string, string | null, readonly string[]])[] = [
      ["none", "none", "none", direct],
      ["full cone", "none", "easy", direct],
      ["port-restricted", "none", "port_restricted", direct],
      ["symmetric", "none", "symmetric", direct],
      ["UDP blocked", "udp_blocked", null, ["tcp", "tls"]],
      ["HTTP proxy alone", "udp_blocked", null, ["tls by proxy"]],
    ];
    for (const [index, [site, cause, nat, relays]] of expected.entries()) {
      const { at } = await checks.site(`c${index}`, site);
      const checked = await checks.check(at);
      const text = `${site}: ${JSON.stringify(checked)}`;
      assert.deepEqual([checked.cause, checked.facts.nat, checked.code], [cause, nat, 0], text);
      assert.deepEqual(ways(checked), relays, text);
      const [first = "", ...rest] = checked.text.trimEnd().split("\n");
      assert.equal(first, checked.sentence);
      assert.ok(rest.every((line) => line.length <= 80), checked.text);
      assert.ok(!checked.text.includes(checks.relay.answer().ice_servers[0]!.credential));
    }
  },
);

tunnelTest(
  "mesh netcheck where the relay is reached by TLS alone; then not at all; with no relay; without a network → what is wrong, and 1 if no path is possible",
  async () => {
    await using checks = await Checks.create();
    const { at, door } = await checks.site("only443", "UDP blocked");
    const input = `table ip only443 {
  chain forward {
    type filter hook forward priority -1;
    ip protocol tcp tcp dport != 443 ip saddr 192.168.77.0/24 drop
  }
}`;
    await at.router!.run(["nft", "-f", "-"], { input });
    const byTls = await checks.check(at);
    assert.deepEqual([byTls.cause, byTls.code, ways(byTls)], ["udp_blocked", 0, ["tls"]]);
    assert.match(byTls.sentence, /^UDP is blocked here\. The mesh works by the relay, by TLS,/);

    await checks.relay.stop();
    const blocked = await checks.check(at);
    assert.deepEqual([blocked.cause, blocked.code, ways(blocked)], ["blocked", 1, []]);
    assert.match(blocked.sentence, /^Nothing leads out: UDP is blocked, and the relay /);

    door.recover();
    const unjoined = await checks.check(at);
    assert.deepEqual([unjoined.cause, unjoined.code], ["not_tested", 1]);
    assert.match(unjoined.sentence, /^This agent has not joined the mesh/);

    door.failWith("/health", () => twoDaysAgo());
    const clock = await checks.check(at);
    assert.deepEqual([clock.cause, clock.code], ["clock", 1]);
    assert.match(clock.sentence, /^This host's clock is 2 days ahead of the service's\. Set it\.$/);

    const other = await checks.site("offline", "none");
    await checks.relay.restart();
    const { address } = checks.relay.host;
    const stun = ["--stun-server", `stun:${address}:3478`];
    other.door.recover();
    const byStun = await checks.check(other.at, stun);
    assert.deepEqual([byStun.cause, byStun.facts.nat, byStun.code], ["no_relay", "none", 0]);
    await other.at.host.run(["ip", "link", "set", "uplink", "down"]);
    other.door.replaceAnswers({ "/relay": checks.relay.answer() });
    const offline = await checks.check(other.at);
    assert.deepEqual([offline.cause, offline.code], ["no_network", 1], JSON.stringify(offline));
  },
);

function twoDaysAgo(): Response {
  const date = new Date(Date.now() - 2 * 86_400_000).toUTCString();
  return new Response("", { headers: { date } });
}
