# Makes a configuration for wg-quick from an answer of /wg_config with "format": "json":
#
#   jq -erf wg-quick.jq answer.json > /etc/wireguard/mesh0.conf
#
# wg-quick runs hooks as root. So nothing of the answer is run: only data of known forms is taken
# from it, and the hooks and the firewall are this file's own. If anything else is where data should
# be, jq fails and prints no configuration. The private key is expected in /etc/wireguard/%i.key.

def refuse($what): error("the configuration is refused: \($what)");

# The input, if it is a text of this form.
def text($form; $what):
  if type == "string" and test("\\A(?:\($form))\\z") then . else refuse($what) end;

def whole($least; $most; $what):
  if type == "number" and . == floor and . >= $least and . <= $most then . else refuse($what) end;

def octet: "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
def ipv4: "\(octet)(?:\\.\(octet)){3}";
# A unique local address.
def ipv6: "fd[0-9a-f]{2}(?:::?[0-9a-f]{1,4}){1,7}(?:::)?";
def key: "[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=";

def number: split(".") | map(tonumber) | ((.[0] * 256 + .[1]) * 256 + .[2]) * 256 + .[3];

# Whether the input, an IPv4 address, is in this network.
def is_in($network; $bits):
  pow(2; 32 - $bits) as $size | (number / $size | floor) == ($network | number / $size | floor);

# Unspecified, loopback, link-local, multicast or reserved: such networks are in no mesh.
def is_special: is_in("0.0.0.0"; 8) or is_in("127.0.0.0"; 8) or is_in("169.254.0.0"; 16) or
  number >= 3758096384;

# The line for the place where a peer listens, or nothing: an address on this host itself or in the
# mesh would carry the tunnel's own packets. Every unique local IPv6 address counts as one in the
# mesh. Whoever registered a name decides where it leads, so the kernel is asked where that is.
def endpoint($own; $peer):
  text("(?:[a-z0-9][a-z0-9.-]*|\\[[0-9a-f:]+\\]):[1-9][0-9]{0,4}"; "an endpoint is malformed") |
  (capture("^(?<host>.*):(?<port>[0-9]+)$")) as {$host, $port} |
  if $host | test("^\(ipv4)$") then
    if $host | is_special or is_in($own.ipv4; $own.bits) then empty else "Endpoint = \(.)" end
  elif $host | startswith("[") then
    if $host | test("^\\[(?:::|f[c-f][0-9a-f]{2}:|64:ff9b:)") then empty else "Endpoint = \(.)" end
  elif $host | test("[.](?:[0-9]+|0x[0-9a-f]*)[.]?$|^[0-9]+$") then
    refuse("an endpoint is malformed")
  else
    "PostUp = (until a=$(getent ahosts \($host)); do wg show %i || exit; sleep 5; done; " +
    "a=${a%% *}; r=$(ip -o route get \"$a\"); case $a:$r in *:|::*|*:local*|*:broadcast*" +
    "|*:multicast*|*\" dev %i \"*) exit ;; esac; case $a in *:*) a=\"[$a]\" ;; esac; " +
    "wg set %i peer \($peer) endpoint \"$a:\($port)\") </dev/null >/dev/null 2>&1 &"
  end;

def peer($own):
  (.allowed_ips[0] | text("\(ipv4)/32"; "an address of a peer is malformed") | .[:-3]) as $ipv4 |
  (.allowed_ips[1] | text("\(ipv6)/128"; "an address of a peer is malformed") | .[:-4]) as $ipv6 |
  (.public_key | text(key; "a public key is malformed")) as $key |
  if $ipv4 | is_in($own.ipv4; $own.bits) | not then refuse("an address is not of the mesh")
  else . end |
  {
    $ipv4,
    $ipv6,
    agent: .agent_id,
    endpoint: ([.endpoints[0] | values | endpoint($own; $key)][0] // ""),
    section: [
      "[Peer]",
      "PublicKey = \($key)",
      "PresharedKey = \(.preshared_key | text(key; "a preshared key is malformed"))",
      "AllowedIPs = \($ipv4)/32, \($ipv6)/128",
      "PersistentKeepalive = \(.persistent_keepalive | whole(0; 65535; "a keepalive is malformed"))"
    ]
  };

def elements: if . == [] then "" else "elements = { \(join(", ")) }; " end;

def foreign($ip; $set):
  "ct state related ct original \($ip) saddr != @\($set) ct reply \($ip) saddr != @\($set) drop";

def pings($own; $ip; $set; $types):
  "\($ip) daddr \($own) \($ip) saddr @\($set) ct state != invalid \($types) accept";

# The firewall. A packet in the reply direction of a flow needs no rule.
def ruleset($own; $peers; $rules):
  def set($name; $type; $of): "set \($name) { type \($type); \($of | elements)}";
  def tuple: "_addr . inet_proto . inet_service";
  def chain($name; $hook; $rules):
    "chain \($name) { type filter hook \($hook) priority mangle; policy accept; " +
    ($rules | join("; ")) + "; }";
  def errors: "destination-unreachable, time-exceeded, parameter-problem";
  [
    set("peers_ipv4"; "ipv4_addr"; [$peers[].ipv4]),
    set("peers_ipv6"; "ipv6_addr"; [$peers[].ipv6]),
    set("rules_ipv4"; "ipv4\(tuple)"; [$rules[] | "\(.ipv4) . \(.target)"]),
    set("rules_ipv6"; "ipv6\(tuple)"; [$rules[] | "\(.ipv6) . \(.target)"]),
    chain("from_tunnel"; "prerouting"; [
      "iifname != \"$i\" accept",
      foreign("ip"; "peers_ipv4"),
      foreign("ip6"; "peers_ipv6"),
      "ct direction reply ct state established,related accept",
      "ip daddr \($own.ipv4) ip saddr . meta l4proto . th dport @rules_ipv4 accept",
      "ip6 daddr \($own.ipv6) ip6 saddr . meta l4proto . th dport @rules_ipv6 accept",
      pings($own.ipv4; "ip"; "peers_ipv4"; "icmp type { echo-request, \(errors) }"),
      pings($own.ipv6; "ip6"; "peers_ipv6"; "icmpv6 type { echo-request, packet-too-big, \(errors) }"),
      "drop"
    ]),
    # A revoked flow must not come back as one that this host began.
    chain("into_tunnel"; "postrouting"; [
      "oifname \"$i\" udp sport $p drop",
      "oifname \"$i\" ct state new tcp flags & (fin | syn | rst | ack) != syn drop"
    ])
  ] | "table inet $t; delete table inet $t; table inet $t { \(join("; ")); }";

if .interface.mtu == null then refuse("it is no answer of /wg_config as JSON") else . end |
.agent_id as $self |
(.interface.addresses[0] | text("\(ipv4)/(?:[89]|[12][0-9])"; "the address is malformed") | split("/"))
  as [$own_ipv4, $bits] |
(.interface.addresses[1] | text("\(ipv6)/64"; "the IPv6 address is malformed") | .[:-3])
  as $own_ipv6 |
{ipv4: $own_ipv4, bits: ($bits | tonumber), ipv6: $own_ipv6} as $own |
if ($own.ipv4 | is_special) or ("169.254.0.0" | is_in($own.ipv4; $own.bits)) then
  refuse("no mesh is at \($own.ipv4)/\($own.bits)")
else . end |
[.peers[] | peer($own)] as $peers |
($peers | map({key: (.agent | tostring), value: .}) | from_entries) as $by_agent |
[.rules[] | select(.to_agent == $self) | $by_agent[.from_agent | tostring] as $peer |
  select($peer != null) | {
    ipv4: $peer.ipv4,
    ipv6: $peer.ipv6,
    target: "\(.proto | text("tcp|udp"; "a protocol is malformed")) . \(
      .port | whole(1; 65535; "a port is malformed"))"
  }] as $rules |
"i=%i; t=agent_mesh_${i//[+=]/_};" as $names |
(ruleset($own; $peers; $rules) | gsub("\""; "\\\"")) as $ruleset |
[
  "[Interface]",
  "Address = \($own.ipv4)/\($own.bits)",
  (.interface.listen_port | values | "ListenPort = \(whole(1; 65535; "the port is malformed"))"),
  "Table = off",
  "MTU = \(.interface.mtu | whole(1280; 65535; "the MTU is malformed"))",
  "PostUp = \($names) p=$(wg show %i listen-port); nft -f - <<< \"\($ruleset)\"",
  "PostUp = ip -6 address replace \($own.ipv6)/64 dev %i || echo '%i: no IPv6 here' >&2",
  ($peers[].endpoint | select(startswith("PostUp"))),
  # Before the private key is set, no packet arrives: none passes a firewall that is not there yet.
  "PostUp = wg set %i private-key /etc/wireguard/%i.key",
  "PostDown = \($names) nft delete table inet $t",
  ($peers[] | "", .section[], (.endpoint | select(startswith("Endpoint"))))
] | join("\n")
