import { formatEndpoint } from "./endpoint.ts";
import type { MeshConfiguration, PeerConfiguration } from "./mesh_configuration.ts";
import { PLACEHOLDERS, renderLoopGuard, renderRuleset } from "./nftables.ts";
import { DEFAULT_PRIVATE_KEY_FILE, type PrivateKeyFile } from "./private_key_file.ts";

export interface RenderOptions {
  /**
   * `none`: the access rules are the agent's to enforce. A table of the same name is there all the
   * same, with nothing but the guard against loops: a peer's name may resolve into the mesh.
   */
  readonly firewall?: "nftables" | "none";
  readonly privateKeyFile?: PrivateKeyFile;
}

/** The smallest that IPv6 allows, so that it passes wherever the outer packet does. */
const MTU = 1280;

/** wg-quick replaces `%i` in hooks; nft takes neither `+` nor `=` in a name. */
const NAME_TABLE = "i=%i; t=agent_mesh_${i//[+=]/_}";

/** After this long WireGuard gives a session up (REJECT_AFTER_TIME). */
const SESSION_SECONDS = 180;

/**
 * Reads the `#nft` lines out of the file: as a hook they would take wg-quick minutes, which parses
 * hooks in quadratic time. A file whose comments somebody cut off fails here, before the private
 * key is set, instead of coming up without a firewall, or staying with its predecessor's: nft takes
 * nothing at all for a ruleset, so the last line is looked for. No `#`: wg-quick cuts hooks there.
 */
const LOAD_FIREWALL = `${NAME_TABLE}; grep -q "^.nft }$" "$CONFIG_FILE" && sed -n "/^.nft /{s///` +
  `;s/${PLACEHOLDERS.table}/$t/;s/${PLACEHOLDERS.interface}/$i/` +
  `;s/${PLACEHOLDERS.port}/$(wg show %i listen-port)/;p;}" "$CONFIG_FILE" | nft -f -` +
  ` || { echo "%i: no firewall from $CONFIG_FILE" >&2; false; }`;

const REMOVE_FIREWALL = `${NAME_TABLE}; nft delete table inet "$t" 2>/dev/null || true`;

/**
 * One name of `LOOK_UP_ENDPOINTS`, as `sh -c <this> <public key> <host> <port>`. `wg set` makes a
 * peer that is not there, without a PSK; so it is given an address, and only once `wg` still shows
 * the peer. One with a session has spoken from where it is, which is better than what is registered.
 */
const LOOK_UP_ENDPOINT =
  `for n in 1 2 3 4 5 6 7 8; do a=$(getent ahosts "$1") && break; sleep 5; ` +
  `done; a=\${a%% *}; case $a in "") exit;; *:*) a="[$a]";; esac; ` +
  `wg show %i latest-handshakes | while read -r k s; do ` +
  `[ "$k" != "$0" ] || [ $(($(date +%s) - s)) -lt ${SESSION_SECONDS} ] || ` +
  `wg set %i peer "$k" endpoint "$a:$2"; done`;

/**
 * Names are looked up behind wg-quick's back, side by side: on an Endpoint line one that does not
 * resolve fails the whole file, and one that times out holds it up for more than a minute. The
 * limit ends what is left of it, which would otherwise outlive the interface. Shuffled: 64 that time
 * out take all the time there is, and whose names came behind theirs in the file would never be had.
 */
const LOOK_UP_ENDPOINTS =
  `{ sed -n "s/^.endpoint \\(.*\\) endpoint \\(.*\\):/\\1 \\2 /p" "$CONFIG_FILE"` +
  ` | shuf | timeout 120 xargs -r -P 64 -L 1 sh -c '${LOOK_UP_ENDPOINT}'; } </dev/null >/dev/null 2>&1 &`;

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
  const ruleset = firewall === "nftables" ? renderRuleset(configuration) : renderLoopGuard();
  const hasNames = peers.some(({ endpoint }) => endpoint?.kind === "name");
  const ipv6Address = `${addresses.ipv6.text}/${networks.ipv6.prefixLength}`;
  const lines = [
    `# agent-mesh: ${configuration.agentId}`,
    "[Interface]",
    `Address = ${addresses.ipv4.text}/${networks.ipv4.prefixLength}`,
    ...(listenPort === null ? [] : [`ListenPort = ${listenPort}`]),
    "Table = off",
    `MTU = ${MTU}`,
    `PostUp = ${LOAD_FIREWALL}`,
    `PostUp = ip -6 address replace ${ipv6Address} dev %i 2>/dev/null || echo "%i: no IPv6 here" >&2`,
    ...(hasNames ? [`PostUp = ${LOOK_UP_ENDPOINTS}`] : []),
    `PostUp = wg set %i private-key ${privateKeyFile}`,
    `PostDown = ${REMOVE_FIREWALL}`,
    ...peers.flatMap(renderPeer),
    "",
    ...ruleset.map((line) => `#nft ${line}`),
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
