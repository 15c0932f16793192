import { formatEndpoint } from "./endpoint.ts";
import type { MeshConfiguration, PeerConfiguration } from "./mesh_configuration.ts";
import { PLACEHOLDERS, renderRuleset } from "./nftables.ts";
import { DEFAULT_PRIVATE_KEY_FILE, type PrivateKeyFile } from "./private_key_file.ts";

export interface RenderOptions {
  readonly firewall?: "nftables" | "none";
  readonly privateKeyFile?: PrivateKeyFile;
}

/** The smallest that IPv6 allows, so that it passes wherever the outer packet does. */
const MTU = 1280;

/** wg-quick replaces `%i` in hooks; nft takes neither `+` nor `=` in a name. */
const NAME_TABLE = "i=%i; t=agent_mesh_${i//[+=]/_}";

/**
 * Reads the `#nft` lines out of the file: as a hook they would take wg-quick minutes, which parses
 * hooks in quadratic time. A file whose comments somebody cut off fails here, before the private
 * key is set, instead of coming up without a firewall. No `#`: wg-quick cuts hooks there.
 */
const LOAD_FIREWALL = `${NAME_TABLE}; sed -n "/^.nft /{s///` +
  `;s/${PLACEHOLDERS.table}/$t/;s/${PLACEHOLDERS.interface}/$i/` +
  `;s/${PLACEHOLDERS.port}/$(wg show %i listen-port)/;p;}" "$CONFIG_FILE" | nft -f -` +
  ` && nft -t list table inet "$t" >/dev/null`;

const REMOVE_FIREWALL = `${NAME_TABLE}; nft delete table inet "$t" 2>/dev/null || true`;

/**
 * Names are looked up behind wg-quick's back, side by side: on an Endpoint line one that does not
 * resolve fails the whole file, and one that times out holds it up for more than a minute. The
 * limit ends what is left of it, which would otherwise outlive the interface.
 */
const LOOK_UP_ENDPOINTS = `{ sed -n "s/^.endpoint //p" "$CONFIG_FILE"` +
  ` | timeout 120 xargs -r -P 64 -L 1 wg set %i peer; } </dev/null >/dev/null 2>&1 &`;

/**
 * The text of `/etc/wireguard/<interface>.conf`. Equal configurations give equal text. The hooks
 * can be run again at any time. The private key comes last: before it no packet can arrive, so
 * nothing slips past a firewall that is not there yet.
 */
export function renderWgQuick(
  configuration: MeshConfiguration,
  { firewall = "nftables", privateKeyFile = DEFAULT_PRIVATE_KEY_FILE }: RenderOptions = {},
): string {
  const { addresses, networks, listenPort, peers } = configuration;
  const hasFirewall = firewall === "nftables";
  const hasNames = peers.some(({ endpoint }) => endpoint?.kind === "name");
  const ipv6Address = `${addresses.ipv6.text}/${networks.ipv6.prefixLength}`;
  const lines = [
    `# agent-mesh: ${configuration.agentId}`,
    "[Interface]",
    `Address = ${addresses.ipv4.text}/${networks.ipv4.prefixLength}`,
    ...(listenPort === null ? [] : [`ListenPort = ${listenPort}`]),
    "Table = off",
    `MTU = ${MTU}`,
    ...(hasFirewall ? [`PostUp = ${LOAD_FIREWALL}`] : []),
    `PostUp = ip -6 address replace ${ipv6Address} dev %i 2>/dev/null || echo "%i: no IPv6 here" >&2`,
    ...(hasNames ? [`PostUp = ${LOOK_UP_ENDPOINTS}`] : []),
    `PostUp = wg set %i private-key ${privateKeyFile}`,
    ...(hasFirewall ? [`PostDown = ${REMOVE_FIREWALL}`] : []),
    ...peers.flatMap(renderPeer),
    ...(hasFirewall ? ["", ...renderRuleset(configuration).map((line) => `#nft ${line}`)] : []),
  ];
  return lines.join("\n") + "\n";
}

/** Keys in the order of `wg showconf`. */
function renderPeer({ agentId, publicKey, presharedKey, addresses, endpoint }: PeerConfiguration) {
  return [
    "",
    "[Peer]",
    `# ${agentId}`,
    `PublicKey = ${publicKey}`,
    `PresharedKey = ${presharedKey.revealBase64()}`,
    `AllowedIPs = ${addresses.ipv4.text}/32, ${addresses.ipv6.text}/128`,
    ...(endpoint === null ? [] : [
      endpoint.kind === "name"
        ? `#endpoint ${publicKey} endpoint ${formatEndpoint(endpoint)}`
        : `Endpoint = ${formatEndpoint(endpoint)}`,
    ]),
    "PersistentKeepalive = 25",
  ];
}
