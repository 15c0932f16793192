import assert from "node:assert/strict";
import { eventually } from "../wireguard/hosts/run_program.ts";
import { Mesh, putRule, revokeRule, TCP_443 } from "../wireguard/hosts/mesh_of_hosts.ts";
import { listen, reaches, untilPingAnswered } from "../wireguard/hosts/probes.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { PathHost } from "./hosts/kernel_path.ts";
import { RelayHost } from "./hosts/relay_host.ts";
import type { Site } from "./hosts/sites.ts";

const LOOPBACK = /^127\.0\.0\.1:\d+$/;

/** Two hosts at these sites that may reach each other, but cannot without help. */
async function pairAt(
  stack: AsyncDisposableStack,
  { site, otherSite = site, relays, otherByDeno = false }: {
    readonly site: Site;
    readonly otherSite?: Site;
    readonly relays: boolean;
    /** Whether Deno instead of Node runs the other host's command. */
    readonly otherByDeno?: boolean;
  },
) {
  const mesh = stack.use(await Mesh.create());
  const relay = await RelayHost.start(await mesh.internet.addHost("relay"));
  const stunServer = `stun:${relay.host.address}:3478`;
  const { authority } = relay;
  const options = { authority, ...(!relays && { stunServer }) };
  const left = await PathHost.join(mesh, { ...options, site, name: "left" });
  const right = await PathHost.join(mesh, {
    ...options,
    site: otherSite,
    name: "right",
    isByDeno: otherByDeno,
  });
  if (relays) { for (const host of [left, right]) host.setRelay(relay); }
  const rules = [
    { from: left.member, to: right.member, ...TCP_443 },
    { from: right.member, to: left.member, ...TCP_443 },
  ];
  for (const rule of rules) await putRule(rule);
  return { mesh, relay, left, right, rules };
}

async function assertJoined(left: PathHost, right: PathHost): Promise<void> {
  for (const [from, to] of [[left, right], [right, left]] as const) {
    await untilPingAnswered(from.member.host, { address: to.member.ipv4 });
    await listen(to.member.host, { proto: "tcp", port: 443 });
    const target = { proto: "tcp", address: to.member.ipv4, port: 443 } as const;
    await eventually("TCP passes", { condition: () => reaches(from.member.host, target) });
    assert.match((await from.endpointOf(to))!, LOOPBACK);
  }
}

tunnelTest(
  "two kernel hosts behind port-restricted routers, no relay, under Node and Deno → punched, both say so; SIGTERM → no file is left",
  async () => {
    await using stack = new AsyncDisposableStack();
    const { left, right } = await pairAt(stack, {
      site: "port-restricted",
      relays: false,
      otherByDeno: true,
    });
    await assertJoined(left, right);
    for (const host of [left, right]) {
      await host.untilLogged(/by way of a program of this host, directly, at 198\.51\.100\./);
    }
    for (const host of [left, right]) {
      assert.equal(await host.meshAgent.stop("SIGTERM"), 0);
      assert.equal(await host.hasStateFile(), false);
    }
  },
);

tunnelTest(
  "two kernel hosts, behind a symmetric router and where UDP is blocked, and a relay → relayed; a rule revoked → its port is closed; killed → restored at the next start",
  async () => {
    await using stack = new AsyncDisposableStack();
    const { left, right, rules } = await pairAt(stack, {
      site: "symmetric",
      otherSite: "UDP blocked",
      relays: true,
    });
    await assertJoined(left, right);
    for (const host of [left, right]) {
      await host.untilLogged(/by way of a program of this host/);
    }
    const reported = () =>
      left.meshAgent.door.heartbeats.at(-1)?.paths?.some(({ via }) => via === "relay") ?? false;
    await eventually("the agent reports the relay", {
      condition: () => Promise.resolve(reported()),
    });

    await left.meshAgent.stop("SIGKILL");
    const killed = (await left.endpointOf(right))!;
    assert.match(killed, LOOPBACK);
    left.meshAgent.restart();
    await eventually("the port of the one that was killed is not used any more", {
      condition: async () => await left.endpointOf(right) !== killed,
    });
    await untilPingAnswered(left.member.host, { address: right.member.ipv4 });

    const port = /:(\d+)$/.exec((await right.endpointOf(left))!)![1]!;
    assert.ok((await right.udpPorts()).includes(`127.0.0.1:${port} `));
    for (const rule of rules) await revokeRule(rule);
    await eventually("its port is closed", {
      condition: async () => !(await right.udpPorts()).includes(`127.0.0.1:${port} `),
    });
    assert.equal(await right.endpointOf(left), undefined);
  },
);

tunnelTest(
  "a kernel host whose only way out is an HTTP proxy, and one behind a symmetric router → joined by a relay that the proxy leads to, by TLS",
  async () => {
    await using stack = new AsyncDisposableStack();
    const { relay, left, right } = await pairAt(stack, {
      site: "HTTP proxy alone",
      otherSite: "symmetric",
      relays: true,
    });
    left.setRelay(relay, /^turns:/);
    await assertJoined(left, right);
    await left.untilLogged(/by way of a program of this host/);
  },
);

tunnelTest(
  "behind symmetric routers without a relay → both say that there is no path",
  async () => {
    await using stack = new AsyncDisposableStack();
    const { left, right } = await pairAt(stack, { site: "symmetric", relays: false });
    for (const host of [left, right]) {
      await host.untilLogged(
        /: no path; no answer from any of its endpoints, and this host has no relay/,
      );
      await host.untilLogged(/no connection; no way to it is found: neither punching nor a relay/);
    }
  },
);

tunnelTest(
  "hosts that reach each other → no port, no file and no request",
  async () => {
    await using stack = new AsyncDisposableStack();
    const { left, right } = await pairAt(stack, { site: "none", relays: true });
    await untilPingAnswered(left.member.host, { address: right.member.ipv4 });
    const { door } = left.meshAgent;
    const before = door.countOf("/relay");
    await eventually("it has looked for a while", {
      condition: async () => {
        const sent = door.countOf("/wait") + door.countOf("/heartbeat");
        await new Promise((resolve) => setTimeout(resolve, 3000));
        return sent > 8;
      },
    });
    assert.equal(await left.hasStateFile(), false);
    assert.equal(door.countOf("/relay"), before);
    // But for the name server, which every host has.
    const ports = (await left.udpPorts()).split("\n").filter((line) => /"node"/.test(line));
    assert.deepEqual(ports.filter((line) => !line.includes(" 127.0.0.55:53 ")), []);
  },
);

tunnelTest(
  "two kernel hosts behind IPv6 firewalls, without any server → punched; either one's key rotated → reached again",
  async () => {
    await using stack = new AsyncDisposableStack();
    const { left, right } = await pairAt(stack, { site: "IPv6 firewall", relays: false });
    await assertJoined(left, right);
    for (const host of [left, right]) {
      await host.untilLogged(/, directly, at \[2001:db8:64:[0-9a-f]+::2\]:\d+/);
    }
    for (const [host, other] of [[left, right], [right, left]] as const) {
      const { meshAgent, member } = host;
      const { code, log } = await meshAgent.runSecond({}, ["--rotate-key"]);
      assert.equal(code, 0, log);
      await meshAgent.untilRunsWith(/the public key is (\S+)\n$/.exec(log)![1]!);
      const began = performance.now();
      await untilPingAnswered(other.member.host, { address: member.ipv4 });
      await untilPingAnswered(member.host, { address: other.member.ipv4 });
      console.log(`reached again after ${((performance.now() - began) / 1000).toFixed(1)} s`);
    }
  },
);

tunnelTest(
  "a host behind NAT, and one that anybody reaches, but that applies the rule late → forwarded, then returned to the kernel; no packet is lost",
  async () => {
    await using stack = new AsyncDisposableStack();
    const mesh = stack.use(await Mesh.create());
    const options = { authority: "" };
    const left = await PathHost.join(mesh, { ...options, site: "port-restricted", name: "left" });
    const right = await PathHost.join(mesh, { ...options, site: "none", name: "right" });
    right.meshAgent.pause();
    await putRule({ from: left.member, to: right.member, ...TCP_443 });
    await eventually("the peer is forwarded", {
      condition: async () => LOOPBACK.test(await left.endpointOf(right) ?? ""),
    });
    const pings = left.member.host.start(
      ["ping", "-n", "-i", "0.1", right.member.ipv4],
      { logName: "ping" },
    );
    right.meshAgent.resume();
    await eventually("the peer is returned to the kernel", {
      condition: async () => {
        const isReturned = await left.endpointOf(right) === right.member.host.endpointAt(51820);
        return isReturned && !(await left.udpPorts()).includes("127.0.0.1:");
      },
    });
    const answered = async () =>
      Array.from(
        (await left.member.host.readLog("ping")).matchAll(/icmp_seq=(\d+)/g),
        (match) => Number(match[1]),
      );
    const { length } = await answered();
    await eventually("it is reached without the port", {
      condition: async () => (await answered()).length > length + 20,
    });
    pings.kill("SIGTERM");
    const [first = NaN, ...others] = await answered();
    assert.deepEqual(others, others.map((_, index) => first + 1 + index));
  },
);
