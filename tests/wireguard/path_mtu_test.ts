import assert from "node:assert/strict";
import { eventually } from "./hosts/run_program.ts";
import type { Host } from "./hosts/host.ts";
import { untilListening } from "./hosts/host.ts";
import { type Quoted, sendForgedError } from "./hosts/icmp_errors.ts";
import {
  bringUp,
  type Member,
  Mesh,
  putRule,
  TCP_443,
  TUNNEL_PORT,
  UDP_443,
} from "./hosts/mesh_of_hosts.ts";
import { answersPing, socatAddress, type Target, untilPingAnswered } from "./hosts/probes.ts";
import { tunnelTest } from "./hosts/requirements.ts";

const PUBLISHED = { proto: "udp", port: 18080 } as const;

/**
 * More than IPv6's minimum of 1280, so that a packet can fit the tunnel and exceed a later link.
 */
const TUNNEL_MTU = 1420;
const NEXT_LINK_MTU = 1300;
const LONG_DATAGRAM = 1350;
const FORGED_MTU = 1290;

/** bob masquerades for a host behind him, and publishes its port. */
const BEHIND = { ipv4: "192.168.77.2", ipv6: "fd77::2" };
const ROUTER = `table inet router {
  chain postrouting {
    type nat hook postrouting priority srcnat;
    oifname != "inside" masquerade
  }
  chain prerouting {
    type nat hook prerouting priority dstnat;
    udp dport ${PUBLISHED.port} dnat ip to ${BEHIND.ipv4}:9
    udp dport ${PUBLISHED.port} dnat ip6 to [${BEHIND.ipv6}]:9
  }
}
`;

tunnelTest(
  "a peer without a rule forges path-MTU errors about flows that do not exist → no path narrows",
  async () => {
    await using mesh = await Mesh.create();
    const members = await joinWithMallory(mesh);
    assert.deepEqual(await narrowedBy(aboutNoFlow(members), members), []);
  },
);

tunnelTest(
  "a peer without a rule forges errors about the tunnel's own datagrams → no path narrows",
  async () => {
    await using mesh = await Mesh.create();
    const members = await joinWithMallory(mesh);
    assert.deepEqual(await narrowedBy(aboutOuterDatagrams(members), members), []);
  },
);

tunnelTest(
  "the same errors without the firewall → every path narrows: the test can fail",
  async () => {
    await using mesh = await Mesh.create();
    const members = await joinWithMallory(mesh);
    const { alice, bob } = members;
    await alice.host.run(["nft", "flush", "ruleset"]);
    const { ipv4, ipv6, host } = bob;
    assert.deepEqual(await narrowedBy(aboutNoFlow(members), members), [ipv4, host.address, ipv6]);

    await alice.host.run(["ip", "route", "flush", "cache"]);
    const outer = aboutOuterDatagrams(members);
    assert.deepEqual(await narrowedBy(outer, members), [host.address]);
  },
);

tunnelTest(
  "replies are too long for a link behind the peer that began → its errors narrow the path",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob, behind } = await joinBesideNarrowLink(mesh);
    await putRule({ from: bob, to: alice, ...UDP_443 });
    for (const member of [alice, bob]) await bringUpWide(member);
    const answer = `SYSTEM:head -c ${LONG_DATAGRAM} /dev/zero`;
    const listener = `UDP6-RECVFROM:${UDP_443.port},ipv6only=0,fork`;
    alice.host.start(["socat", listener, answer], { logName: "long-answers" });
    await untilListening(alice.host, UDP_443);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    for (const [asked, back] of [[alice.ipv4, bob.ipv4], [alice.ipv6, bob.ipv6]] as const) {
      await untilNarrowed(
        alice,
        back,
        () => sendDatagram(behind, { to: { ...UDP_443, address: asked }, length: 1 }),
      );
    }
  },
);

tunnelTest(
  "datagrams are too long for a link behind the peer that publishes → its errors narrow the path",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinBesideNarrowLink(mesh);
    await putRule({ from: alice, to: bob, ...PUBLISHED });
    for (const member of [alice, bob]) await bringUpWide(member);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    for (const address of [bob.ipv4, bob.ipv6]) {
      await untilNarrowed(
        alice,
        address,
        () => sendDatagram(alice.host, { to: { ...PUBLISHED, address }, length: LONG_DATAGRAM }),
      );
    }
  },
);

interface Members {
  readonly alice: Member;
  readonly bob: Member;
  /** A peer of alice. alice may reach mallory, but mallory may not reach alice. */
  readonly mallory: Member;
}

interface ForgedError {
  readonly to: string;
  readonly quoted: Quoted;
}

async function joinWithMallory(mesh: Mesh): Promise<Members> {
  const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
  const mallory = await mesh.join("mallory");
  for (const to of [bob, mallory]) await putRule({ from: alice, to, ...TCP_443 });
  await bringUpWide(alice);
  // With this ping, the datagrams between alice and bob belong to a flow that alice began.
  assert.equal(await answersPing(alice.host, bob.ipv4), false);
  for (const member of [bob, mallory]) await bringUpWide(member);
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
  await untilPingAnswered(mallory.host, { address: alice.ipv4 });
  // mallory configures her own host to send packets for alice's outer address through the tunnel,
  // too.
  const reachable = `${alice.ipv4}/32,${alice.ipv6}/128,${alice.host.address}/32`;
  const peer = ["peer", alice.publicKey, "allowed-ips", reachable];
  await mallory.host.run(["wg", "set", mallory.interfaceName, ...peer]);
  return { alice, bob, mallory };
}

function aboutNoFlow({ alice, bob }: Members): ForgedError[] {
  return [
    { to: alice.ipv4, quoted: echoReply(alice.ipv4, bob.ipv4) },
    { to: alice.ipv4, quoted: echoReply(alice.host.address, bob.host.address) },
    { to: alice.ipv6, quoted: echoReply(alice.ipv6, bob.ipv6) },
  ];
}

function aboutOuterDatagrams({ alice, bob }: Members): ForgedError[] {
  const [source, destination] = [alice.host.address ?? "", bob.host.address ?? ""];
  const quoted = { source, destination, flow: { udpPort: TUNNEL_PORT } };
  return [alice.ipv4, source].map((to) => ({ to, quoted }));
}

function echoReply(source: string | null, destination: string | null): Quoted {
  return { source: source ?? "", destination: destination ?? "", flow: "echo reply" };
}

/** Sends the errors as mallory. Returns the paths whose MTU became narrower for alice. */
async function narrowedBy(
  errors: readonly ForgedError[],
  { alice, mallory }: Members,
): Promise<string[]> {
  for (const error of errors) {
    const { host, interfaceName } = mallory;
    await sendForgedError(host, { ...error, device: interfaceName, mtu: FORGED_MTU });
  }
  // The tunnel keeps the order, so alice has received the errors when she answers.
  assert.equal(await answersPing(mallory.host, alice.ipv4), true);
  const paths = new Set(errors.map(({ quoted }) => quoted.destination));
  const narrowed: string[] = [];
  for (const path of paths) {
    if (await learnedMtu(alice.host, path) === FORGED_MTU) narrowed.push(path);
  }
  return narrowed;
}

async function joinBesideNarrowLink(mesh: Mesh) {
  const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
  const behind = await mesh.internet.addHostBehind(bob.host, "behind");
  const link = [{ host: bob.host, device: "inside", address: "fd77::1" }, {
    host: behind,
    device: "uplink",
    address: BEHIND.ipv6,
  }];
  for (const { host, device, address } of link) {
    await host.run(["ip", "link", "set", device, "mtu", `${NEXT_LINK_MTU}`]);
    await host.run(["ip", "address", "add", `${address}/64`, "dev", device, "nodad"]);
  }
  await behind.run(["ip", "route", "add", "default", "via", "fd77::1"]);
  await bob.host.run(["sysctl", "-qw", "net.ipv6.conf.all.forwarding=1"]);
  await bob.host.run(["nft", "-f", "-"], { input: ROUTER });
  return { alice, bob, behind };
}

async function bringUpWide(member: Member): Promise<void> {
  await bringUp(member);
  const { host, interfaceName } = member;
  await host.run(["ip", "link", "set", interfaceName, "mtu", `${TUNNEL_MTU}`]);
}

/** Keeps the socket open for another second: an error is only delivered to an existing socket. */
async function sendDatagram(
  host: Host,
  { to, length }: { to: Target; length: number },
): Promise<void> {
  // The expected error makes socat fail.
  await host.runAnyhow(["socat", "-t1", "-", socatAddress(to)], { input: "x".repeat(length) });
}

/** Sends until an error has come back. Datagrams get lost, and an error may find no socket. */
async function untilNarrowed(
  { host }: Member,
  path: string,
  send: () => Promise<void>,
): Promise<void> {
  await eventually(`${host.namespace} knows the narrow link on the path to ${path}`, {
    async condition() {
      await send();
      return await learnedMtu(host, path) === NEXT_LINK_MTU;
    },
  });
}

async function learnedMtu(host: Host, path: string): Promise<number | null> {
  const [, mtu] = / mtu ([0-9]+)/.exec(await host.run(["ip", "route", "get", path])) ?? [];
  return mtu === undefined ? null : Number(mtu);
}
