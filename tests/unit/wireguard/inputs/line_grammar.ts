/** The grammar of every line that a rendered configuration may contain. */
const IPV4 = "[0-9]{1,3}(?:\\.[0-9]{1,3}){3}";
const IPV6 = "[0-9a-f:]{2,39}";
const KEY = "[A-Za-z0-9+/]{43}=";
const AGENT = "[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}";
const PORT = "[1-9][0-9]{0,4}";
const NAME = "[a-z0-9.-]{1,253}";
const ENDPOINT = `(?:${NAME}|\\[${IPV6}\\]):${PORT}`;
const TUPLE = `(?:${IPV4}|${IPV6}) \\. (?:tcp|udp) \\. ${PORT}`;

const LINES = [
  "",
  `# agent-mesh: ${AGENT}`,
  "\\[Interface\\]",
  `Address = ${IPV4}/[0-9]{1,2}`,
  `#address ${IPV6}/[0-9]{1,3}`,
  `ListenPort = ${PORT}`,
  "Table = off",
  "MTU = 1280",
  'PostUp = i=%i; t=agent_mesh_[^#]+ \\| nft -f - \\|\\| \\{ echo "[^"#]+" >&2; false; \\}',
  'PostUp = i=%i; t=agent_mesh_[^#]+ \\| nft -f - \\|\\| echo "[^"#]+" >&2',
  `PostUp = ip -6 address replace ${IPV6}/[0-9]{1,3} dev %i 2>/dev/null \\|\\| echo "[^"#]+" >&2`,
  'PostUp = \\{ sed -n "s/\\^\\.endpoint [^"#]+" "\\$CONFIG_FILE" [^#]+ </dev/null >/dev/null 2>&1 &',
  "PostUp = wg set %i private-key /[A-Za-z0-9._/@%-]+",
  'PostDown = i=%i; t=agent_mesh_[^#]+; nft delete table inet "\\$t" 2>/dev/null \\|\\| true',
  "\\[Peer\\]",
  `# ${AGENT}`,
  `PublicKey = ${KEY}`,
  `PresharedKey = ${KEY}`,
  `AllowedIPs = ${IPV4}/32, ${IPV6}/128`,
  `Endpoint = (?:${IPV4}|\\[${IPV6}\\]):${PORT}`,
  `#endpoint ${KEY} endpoint ${NAME}:${PORT}`,
  `# endpoints ${ENDPOINT}(?: ${ENDPOINT}){0,2}`,
  "PersistentKeepalive = 25",
  "#nft (?:delete )?table inet <table>(?: \\{)?",
  "#nft   set (?:peers|rules)_ipv[46] \\{",
  "#nft     type ipv[46]_addr(?: \\. inet_proto \\. inet_service)?",
  "#nft     elements = \\{",
  `#nft       (?:(?:${IPV4}|${IPV6}|${TUPLE}),(?: (?=.)|$))+`,
  "#nft   chain (?:from|into)_tunnel \\{",
  "#nft     type filter hook (?:prerouting|postrouting) priority mangle; policy accept;",
  '#nft     iifname != "<interface>" accept',
  "#nft     ct state related ct original ip saddr != @peers_ipv4 ct reply ip saddr != @peers_ipv4 drop",
  "#nft     ct state related ct original ip6 saddr != @peers_ipv6 ct reply ip6 saddr != @peers_ipv6 drop",
  "#nft     ct direction reply ct state established,related accept",
  `#nft     ip daddr ${IPV4} ip saddr \\. meta l4proto \\. th dport @rules_ipv4 accept`,
  `#nft     ip6 daddr ${IPV6} ip6 saddr \\. meta l4proto \\. th dport @rules_ipv6 accept`,
  `#nft     ip daddr ${IPV4} ip saddr @peers_ipv4 ct state != invalid icmp type \\{ [a-z, -]+ \\} accept`,
  `#nft     ip6 daddr ${IPV6} ip6 saddr @peers_ipv6 ct state != invalid icmpv6 type \\{ [a-z, -]+ \\} accept`,
  "#nft     drop",
  '#nft     oifname "<interface>" udp sport <port> drop',
  '#nft     oifname "<interface>" ct state new tcp flags & \\(fin \\| syn \\| rst \\| ack\\) != syn drop',
  "#nft {1,5}\\}",
];
const KNOWN_LINE = new RegExp(`^(?:${LINES.join("|")})$`);
const LONGEST_LINE_BYTES = 1000;

/** The lines of a rendered configuration that the grammar does not allow. */
export function unknownLines(text: string): string[] {
  if (!text.endsWith("\n")) return ["(the last line has no line break)"];
  return text.slice(0, -1).split("\n").filter((line) =>
    line.length > LONGEST_LINE_BYTES || !KNOWN_LINE.test(line)
  );
}
