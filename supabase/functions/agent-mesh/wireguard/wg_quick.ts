import { formatEndpoint } from "../../_shared/operations/addresses/endpoint.ts";
import type { MeshConfiguration, PeerConfiguration } from "./mesh_configuration.ts";
import { PLACEHOLDERS, renderLoopGuard, renderRuleset } from "./nftables.ts";
import { DEFAULT_PRIVATE_KEY_FILE, type PrivateKeyFile } from "./private_key_file.ts";

export interface RenderOptions {
  /**
   * `none`: the agent enforces the access rules itself. If nft is installed, the table is still
   * loaded, but has only the guard against loops. If nft is not installed, the endpoint of a peer
   * that registered a name is still never set to an address inside the mesh.
   */
  readonly firewall?: "nftables" | "none";
  readonly privateKeyFile?: PrivateKeyFile;
}

/** The smallest MTU that IPv6 allows, so that packets fit on every path of the datagrams. */
export const MTU = 1280;

/** In seconds: shorter than any NAT keeps a mapping. */
export const PERSISTENT_KEEPALIVE = 25;

/** wg-quick replaces `%i` in hooks; nft allows neither `+` nor `=` in a name. */
const NAME_TABLE = "i=%i; t=agent_mesh_${i//[+=]/_}";

/** WireGuard gives up a session after this long (REJECT_AFTER_TIME). */
const SESSION_SECONDS = 180;

/**
 * Loads the `#nft` lines of the file. As hooks they would take minutes, because wg-quick parses
 * hooks in quadratic time. grep looks for the last of these lines first: nft accepts an empty input
 * as a ruleset, so a file that lost its comments would come up with no firewall, or with the
 * previous one. The hook fails instead, before the private key is set. A hook must not have a `#`,
 * because wg-quick cuts it there.
 */
const LOAD_TABLE = `${NAME_TABLE}; grep -q "^.nft }$" "$CONFIG_FILE" && sed -n "/^.nft /{s///` +
  `;s/${PLACEHOLDERS.table}/$t/;s/${PLACEHOLDERS.interface}/$i/` +
  `;s/${PLACEHOLDERS.port}/$(wg show %i listen-port)/;p;}" "$CONFIG_FILE" | nft -f -`;

const LOAD_FIREWALL = `${LOAD_TABLE} || { echo "%i: no firewall from $CONFIG_FILE" >&2; false; }`;

const LOAD_LOOP_GUARD =
  `${LOAD_TABLE} || echo "%i: nft has not loaded the guard against loops" >&2`;

const REMOVE_FIREWALL = `${NAME_TABLE}; nft delete table inet "$t" 2>/dev/null || true`;

/**
 * Looks up one name of `LOOK_UP_ENDPOINTS`, as `sh -c <this> <public key> <host> <port>`. `wg set`
 * would create a peer that has been removed meanwhile, without a PSK. So the script resolves the
 * name first, and sets the endpoint only if `wg` still shows the peer. Whoever registered the name
 * decides what it resolves to. So the script asks the kernel where the address leads, and refuses
 * addresses that lead to this host or into the tunnel. (The kernel does not know that `::` and
 * addresses that begin with it, such as `::ffff:127.0.0.1`, may lead to this host, so these are
 * refused, too.) A peer with a session keeps its endpoint: it has sent packets from there, which is
 * better than what is registered.
 */
const LOOK_UP_ENDPOINT = `for n in 1 2 3 4 5 6 7 8; do a=$(getent ahosts "$1") && a=\${a%% *} && ` +
  `r=$(ip -o route get "$a") && break; sleep 5; done; ` +
  `case $a:$r in *:|::*|*:local*|*:broadcast*|*:multicast*|*" dev %i "*) exit;; esac; ` +
  `case $a in *:*) a="[$a]";; esac; ` +
  `wg show %i latest-handshakes | while read -r k s; do ` +
  `[ "$k" != "$0" ] || [ $(($(date +%s) - s)) -lt ${SESSION_SECONDS} ] || ` +
  `wg set %i peer "$k" endpoint "$a:$2"; done`;

/**
 * Looks up names in the background, 64 at a time. On an Endpoint line, a name that does not resolve
 * would fail the whole file, and one that times out would delay it for more than a minute. The time
 * limit ends lookups that would outlive the interface. The order is random: 64 names that time out
 * use up the whole time, and must not exclude the same other names at every start.
 */
const LOOK_UP_ENDPOINTS =
  `{ sed -n "s/^.endpoint \\(.*\\) endpoint \\(.*\\):/\\1 \\2 /p" "$CONFIG_FILE"` +
  ` | shuf | timeout 120 xargs -r -P 64 -L 1 sh -c '${LOOK_UP_ENDPOINT}'; } </dev/null >/dev/null 2>&1 &`;

/**
 * Renders the text of `/etc/wireguard/<interface>.conf`. Equal configurations give equal text. The
 * hooks can be run again at any time. The private key comes last: no packet can arrive before it is
 * set, so nothing slips in before the firewall is loaded.
 */
export function renderWgQuick(
  configuration: MeshConfiguration,
  { firewall = "nftables", privateKeyFile = DEFAULT_PRIVATE_KEY_FILE }: RenderOptions = {},
): string {
  const { addresses, networks, listenPort, peers } = configuration;
  const ruleset = firewall === "nftables" ? renderRuleset(configuration) : renderLoopGuard();
  const hasNames = peers.some(({ endpoint }) => endpoint?.kind === "name");
  const loadTable = firewall === "nftables" ? LOAD_FIREWALL : LOAD_LOOP_GUARD;
  const ipv6Address = `${addresses.ipv6.text}/${networks.ipv6.prefixLength}`;
  const lines = [
    `# agent-mesh: ${configuration.agentId}`,
    "[Interface]",
    `Address = ${addresses.ipv4.text}/${networks.ipv4.prefixLength}`,
    // For agents that run their own hooks, and read only the data in this file.
    `#address ${ipv6Address}`,
    ...(listenPort === null ? [] : [`ListenPort = ${listenPort}`]),
    "Table = off",
    `MTU = ${MTU}`,
    `PostUp = ${loadTable}`,
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

/** The keys are in the order of `wg showconf`. */
function renderPeer(
  { agentId, publicKey, presharedKey, addresses, endpoint, furtherEndpoints }: PeerConfiguration,
) {
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
    // wg takes one endpoint, and reads this line as a comment. The text must name all endpoints,
    // because config_version rises if the text changes: so programs that take the configuration as
    // JSON learn of a new endpoint.
    ...(furtherEndpoints.length === 0
      ? []
      : [`# endpoints ${furtherEndpoints.map(formatEndpoint).join(" ")}`]),
    `PersistentKeepalive = ${PERSISTENT_KEEPALIVE}`,
  ];
}
