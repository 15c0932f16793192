import assert from "node:assert/strict";
import { Internet } from "../wireguard/hosts/internet.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { PathPeer } from "./hosts/path_peer.ts";
import { RelayHost } from "./hosts/relay_host.ts";
import { addSite, type Site, SITES } from "./hosts/sites.ts";

/** Sites that let UDP out. */
const WITH_UDP: readonly Site[] = ["none", "full cone", "port-restricted", "symmetric"];

/** Sites that accept datagrams from anyone. */
const OPEN: readonly Site[] = ["none", "full cone"];

function expected(left: Site, right: Site): "direct" | "relay" {
  if (![left, right].every((site) => WITH_UDP.includes(site))) return "relay";
  if ([left, right].some((site) => OPEN.includes(site))) return "direct";
  return [left, right].includes("symmetric") ? "relay" : "direct";
}

tunnelTest("two peers without privileges, behind every pair of routers → joined", async () => {
  await using internet = await Internet.create();
  const relay = await RelayHost.start(await internet.addHost("relay"));
  await using stack = new AsyncDisposableStack();
  async function addPeers(side: string, number: number): Promise<PathPeer[]> {
    const peers: PathPeer[] = [];
    for (const [index, site] of SITES.entries()) {
      const at = await addSite(internet, `${side}${index}`, site);
      const runtime = (index + number) % 2 === 0 ? "node" : "deno";
      const peer = await PathPeer.start(at, { inner: `10.0.${number}.${index + 1}`, runtime });
      peers.push(stack.use(peer));
    }
    return peers;
  }
  const [lefts, rights] = [await addPeers("l", 1), await addPeers("r", 2)];
  const access = { relay: relay.answer(), ca: relay.authority };
  await Promise.all([...lefts, ...rights].map((peer) => peer.open(access)));
  await Promise.all([
    ...lefts.map((left) => left.setPeers(...rights)),
    ...rights.map((right) => right.setPeers(...lefts)),
  ]);

  const rows = await Promise.all(lefts.map((left) => rowOf(left, rights)));
  const names = SITES.map((site) => site.padEnd(17)).join("");
  console.log([`${"".padEnd(17)}${names}`, ...rows.map(({ text }) => text)].join("\n"));
  assert.deepEqual(rows.flatMap(({ wrong }) => wrong), []);
});

/** Waits until all are connected by the expected path. Returns how long the first answer took. */
async function rowOf(
  left: PathPeer,
  rights: readonly PathPeer[],
): Promise<{ readonly text: string; readonly wrong: readonly string[] }> {
  const wrong: string[] = [];
  for (const right of rights) {
    const complain = (error: Error) => void wrong.push(error.message);
    await left.untilJoined(right).catch(complain);
    await left.untilVia(right, expected(left.at.site, right.at.site)).catch(complain);
  }
  const { firstAnswers } = await left.state();
  const cells = await Promise.all(rights.map(async (right) => {
    const seconds = (firstAnswers[right.inner] ?? Infinity) / 1000;
    return `${await left.viaTo(right)} ${seconds.toFixed(1)} s`.padEnd(17);
  }));
  return { text: left.at.site.padEnd(17) + cells.join(""), wrong };
}
