import assert from "node:assert/strict";
import { KernelPeer } from "../tunnel/hosts/kernel_peer.ts";
import { eventually } from "../wireguard/hosts/run_program.ts";
import { Internet } from "../wireguard/hosts/internet.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { PathPeer } from "./hosts/path_peer.ts";
import { RelayHost } from "./hosts/relay_host.ts";
import { addSite, type Site } from "./hosts/sites.ts";

const PORT = 51820;

/** A host with regular WireGuard, a peer without privileges, and a relay that both know. */
async function kernelAndPeer(
  stack: AsyncDisposableStack,
  sites: { readonly kernel: Site; readonly peer: Site },
) {
  const internet = stack.use(await Internet.create());
  const relay = await RelayHost.start(await internet.addHost("relay"));
  const kernelAt = await addSite(internet, "k", sites.kernel);
  const peerAt = await addSite(internet, "p", sites.peer);
  const interfaceName = `${internet.id}wg`;
  const kernel = await KernelPeer.start(kernelAt.host, { interfaceName, inner: "10.0.1.1" });
  const peer = stack.use(await PathPeer.start(peerAt, { inner: "10.0.1.2" }));
  const { endpoints } = await peer.open({ relay: relay.answer(), ca: relay.authority });
  return { relay, kernel, kernelAt, peer, endpoint: endpoints[0]! };
}

/** The kernel's host, as the service describes it to the peer. */
function asPeer(
  { keys, inner }: KernelPeer,
  places: { readonly endpoints?: string[]; readonly observed_endpoint?: string },
) {
  return {
    publicKey: keys.publicKey,
    presharedKey: null,
    allowedIps: [`${inner}/32`],
    endpoints: [],
    observed_endpoint: null,
    ...places,
  };
}

tunnelTest(
  "a kernel host in the open, and a peer behind a proxy alone → joined by the relay, the host as it is",
  async () => {
    await using stack = new AsyncDisposableStack();
    const { relay, kernel, peer, endpoint } = await kernelAndPeer(stack, {
      kernel: "none",
      peer: "HTTP proxy alone",
    });
    assert.ok(endpoint.startsWith(`${relay.host.address}:`));
    await kernel.setPeer(peer);
    await kernel.set("peer", peer.keys.publicKey, "endpoint", endpoint);
    const endpoints = [`${kernel.host.address}:${PORT}`];
    await peer.tell({ do: "setPeers", peers: [asPeer(kernel, { endpoints })] });
    await kernel.untilPings(peer.inner);
    assert.equal(await peer.pings(kernel), true);
    assert.equal(await kernel.peerEndpoint(), endpoint);
  },
);

tunnelTest(
  "a kernel host behind a router, which others observed → reaches the peer by its first endpoint",
  async () => {
    await using stack = new AsyncDisposableStack();
    const { kernel, kernelAt, peer, endpoint } = await kernelAndPeer(stack, {
      kernel: "port-restricted",
      peer: "symmetric",
    });
    await kernel.setPeer(peer);
    const keepalive = ["persistent-keepalive", "5"];
    await kernel.set("peer", peer.keys.publicKey, "endpoint", endpoint, ...keepalive);
    const observed = `${kernelAt.outside}:${PORT}`;
    await peer.tell({ do: "setPeers", peers: [asPeer(kernel, { observed_endpoint: observed })] });
    await kernel.untilPings(peer.inner);
    assert.equal(await peer.pings(kernel), true);
    await eventually("the peer tells that it is relayed", {
      condition: async () => (await peer.state()).reports[0]?.via === "relay",
    });
  },
);
