# Extracts the data from a served configuration, and fills it into own.conf. Only this data is used:
# addresses, port, MTU, peers, endpoints, and who may reach which port. Each value is parsed, and
# written from its parsed form. Hooks and nft rules are recognised and left out, whatever they say:
# own.conf has the agent's own. Any other line is refused, and then nothing is written.
#
#   awk -v firewall=nftables|none -v private_key=<path> -v names=hook|mark \
#     -f addresses.awk -f configuration.awk own.conf <served>
#
# With names=mark, no hook looks up DNS names. They are marked by `#name`, for another program to
# look up. The output is also valid input, and comes out unchanged.

FNR == 1 { file++ }
file == 1 { if (templates || $0 == "[Interface]") template[++templates] = $0; next }
section == "" { before_interface($0); next }
/^#nft / { section = "nft"; firewall_line(substr($0, 6)); next }
section == "nft" { unknown() }
$0 == "" || /^# / { comment(); next }
$0 == "[Peer]" { require_own_addresses(); section = "peer"; peer = ++peers; next }
section == "interface" { interface_line($0); next }
{ peer_line($0) }

END {
  if (failed) exit 1
  require_own_addresses()
  if (block != "end") refuse("it is cut off before the end of its firewall")
  for (peer = 1; peer <= peers; peer++) {
    if (key[peer] == "" || psk[peer] == "" || peer_ipv4[peer] == "")
      refuse("peer " peer " lacks PublicKey, PresharedKey or AllowedIPs")
  }
  write_own()
}

# --- what is refused ----------------------------------------------------------------------------

function refuse(why) {
  if (!failed) print "the configuration is refused: " why >"/dev/stderr"
  failed = 1
  exit 1
}

function unknown() { refuse("line " FNR " is not one that this agent knows: " $0) }

# The own addresses are needed to check that a peer is in the mesh.
function require_own_addresses() {
  if (address == "" || ipv6 == "") refuse("it has no Address or no #address before its first peer")
}

# Accepts a value that a section may have once. Refuses the line unless `is_good`.
function take(name, is_good) {
  if (!is_good || taken[section, peer, name]++) unknown()
}

# --- the lines ----------------------------------------------------------------------------------

function before_interface(line) {
  if (line == "[Interface]") section = "interface"
  else if (line !~ /^(# .*)?$/) unknown()
}

# The first comment of a peer is its agent_id.
function comment() {
  if (section == "peer" && label[peer] == "" && $0 ~ /^# [A-Za-z0-9][A-Za-z0-9._:@-]*$/)
    label[peer] = substr($0, 3)
}

function interface_line(line,    name, value) {
  if (line ~ /^(Pre|Post)(Up|Down) = /) return
  name = line; sub(/ .*/, "", name)
  value = line; sub(/^(#address|[A-Za-z]+ =) /, "", value)
  if (name == "Address") { take(name, parse_ipv4_network(value)); address = value }
  else if (name == "#address") take(name, parse_ipv6_network(value))
  else if (name == "ListenPort") { take(name, is_number(value, 1, 65535)); listen_port = value }
  else if (name == "MTU") { take(name, is_number(value, 1280, 65535)); mtu = value }
  else take(name, line == "Table = off")
}

function peer_line(line,    name, value) {
  if (line ~ /^#(endpoint|name) /) { named_endpoint(line); return }
  name = line; sub(/ .*/, "", name)
  value = line; sub(/^[A-Za-z]+ = /, "", value)
  if (name == "PublicKey") { take(name, is_key(value) && !(value in known)); key[peer] = value; known[value] }
  else if (name == "PresharedKey") { take(name, is_key(value)); psk[peer] = value }
  else if (name == "AllowedIPs") take(name, parse_allowed_ips(value))
  else if (name == "Endpoint") take("endpoint", parse_endpoint(value))
  else if (name == "PersistentKeepalive") { take(name, is_number(value, 0, 65535)); keepalive[peer] = value }
  else unknown()
}

# #endpoint <key of this peer> endpoint <name>:<port>
function named_endpoint(line,    words) {
  take("endpoint", split(line, words, " ") == 4 && line == words[1] " " key[peer] " endpoint " words[4] &&
    is_dns_name(host_of(words[4])))
  endpoint_name[peer] = words[4]
  has_names = 1
}

# In the ruleset, only the elements of four sets are data. The content of chains is ignored.
function firewall_line(line) {
  if (block == "" && line ~ /^(delete )?table inet <table>$/) return
  if (block == "" && line == "table inet <table> {") block = "table"
  else if (block == "table" && line ~ /^  set (peers|rules)_ipv[46] \{$/) { block = "set"; set = substr(line, 7, 10) }
  else if (block == "table" && line ~ /^  chain [a-z_]+ \{$/) block = "chain"
  else if (block == "table" && line == "}") block = "end"
  else if (block ~ /^(set|chain)$/ && line == "  }") block = "table"
  else if (block == "chain" && line ~ /^    /) return
  else if (block == "set" && line ~ /^    type [a-z0-9_. ]+$/) return
  else if (block == "set" && line == "    elements = {") block = "elements"
  else if (block == "elements" && line == "    }") block = "set"
  else if (block == "elements" && sub(/^      /, "", line) && sub(/,$/, "", line)) elements(line)
  else unknown()
}

function elements(line,    list, count, i) {
  count = split(line, list, ", ")
  for (i = 1; i <= count; i++) element(list[i])
  if (count == 0) unknown()
}

# An address of a peer or, in the sets of rules, <address> . <protocol> . <port>.
function element(text,    words, of) {
  split(text, words, " ")
  of = canonical(words[1])
  if (owner[of] != substr(set, 7)) unknown()
  if (set ~ /^peers/) { if (text != words[1]) unknown(); return }
  if (text != words[1] " . " words[3] " . " words[5] || words[3] !~ /^(tcp|udp)$/ || !is_number(words[5], 1, 65535))
    unknown()
  text = of substr(text, length(words[1]) + 1)
  if (!((set, text) in is_rule)) rule[set, ++rules[set]] = text
  is_rule[set, text]
}

# --- values -------------------------------------------------------------------------------------

function before(text, mark) { return substr(text, 1, index(text, mark) - 1) }

# A decimal number in its canonical spelling.
function is_number(text, low, high) {
  return text ~ /^(0|[1-9][0-9]*)$/ && length(text) <= 5 && text + 0 >= low && text + 0 <= high
}

# Canonical base64 of 32 bytes.
function is_key(text) { return length(text) == 44 && text ~ /^[A-Za-z0-9+\/]*[AEIMQUYcgkosw048]=$/ }

# Sets this host's address, and the range of the mesh against which other addresses are checked.
function parse_ipv4_network(text,    bits, number, size) {
  ipv4 = before(text, "/"); bits = substr(text, length(ipv4) + 2)
  number = ipv4_number(ipv4)
  if (number < 0 || !is_number(bits, 8, 32)) return 0
  # Convert to a number: awk would compare a substring as text.
  bits += 0
  for (size = 1; bits < 32; bits++) size *= 2
  first_in_mesh = number - number % size; last_in_mesh = first_in_mesh + size - 1
  if (is_special_ipv4(first_in_mesh, last_in_mesh))
    refuse("no mesh can be where addresses are unspecified, loopback, link-local, multicast or reserved: " text)
  return 1
}

function parse_ipv6_network(text,    groups) {
  groups = ipv6_groups(before(text, "/"))
  if (groups == "" || text != before(text, "/") "/64") return 0
  if (groups !~ /^fd/) refuse("the IPv6 addresses of a mesh must be unique local ones, in fd00::/8: " text)
  ipv6 = ipv6_text(groups); mesh_groups = substr(groups, 1, 20)
  return 1
}

function is_in_ipv4_mesh(number) { return number >= first_in_mesh && number <= last_in_mesh }

function is_in_ipv6_mesh(groups) { return substr(groups, 1, 20) == mesh_groups }

# Sets the tunnel addresses of a peer. Fails if this host or another peer has one of them.
function parse_allowed_ips(text,    words, groups) {
  if (split(text, words, ", ") != 2 || text != words[1] ", " words[2]) return 0
  if (!sub(/\/32$/, "", words[1]) || !sub(/\/128$/, "", words[2])) return 0
  groups = ipv6_groups(words[2])
  if (!is_in_ipv4_mesh(ipv4_number(words[1])) || !is_in_ipv6_mesh(groups)) return 0
  words[2] = ipv6_text(groups)
  if (words[1] in owner || words[2] in owner || words[1] == ipv4 || words[2] == ipv6) return 0
  peer_ipv4[peer] = words[1]; owner[words[1]] = "ipv4"
  peer_ipv6[peer] = words[2]; owner[words[2]] = "ipv6"
  return 1
}

# The host of <host>:<port>; "" if the text has another form.
function host_of(text) {
  if (!match(text, /:[0-9]+$/) || !is_number(substr(text, RSTART + 1), 1, 65535)) return ""
  return substr(text, 1, RSTART - 1)
}

# Ignores an endpoint whose packets would stay on this host or enter the tunnel again.
function parse_endpoint(text,    host, port, groups, number) {
  host = host_of(text); port = substr(text, length(host) + 1)
  if (sub(/^\[/, "", host)) {
    groups = sub(/\]$/, "", host) ? ipv6_groups(host) : ""
    if (groups == "") return 0
    if (!ipv6_leads_astray(groups)) endpoint[peer] = "[" ipv6_text(groups) "]" port
    return 1
  }
  number = ipv4_number(host)
  if (number < 0) return 0
  if (!ipv4_leads_astray(number)) endpoint[peer] = host port
  return 1
}

function ipv4_leads_astray(number) { return is_in_ipv4_mesh(number) || is_special_ipv4(number, number) }

function ipv6_leads_astray(groups) {
  # Mapped IPv4: the service would write it as IPv4.
  if (groups ~ /^0000:0000:0000:0000:0000:ffff:/) return 1
  # Compatible with IPv4, or for a translator: check the IPv4 address in the last 32 bits.
  if (groups ~ /^(0000:0000:0000:0000:0000:0000|0064:ff9b:0000:0000:0000:0000):/)
    return ipv4_leads_astray(last_ipv4_number(groups))
  return is_in_ipv6_mesh(groups) || groups ~ /^(fe[89a-f]|ff)/
}

# A DNS name (RFC 1123). Its last label must not be a number, decimal or 0x…: resolvers would read
# the name as an IPv4 address.
function is_dns_name(text) {
  return length(text) <= 253 && text ~ /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/ && text !~ /\.\.|\.-|-\./ &&
    text ~ /(^|\.)[a-z0-9-]*[a-z][a-z0-9-]*$/ && text !~ /(^|\.)0x[0-9a-f]*$/
}

# --- what is written ----------------------------------------------------------------------------

function write_own(    i) {
  value["address"] = address; value["ipv4"] = ipv4; value["ipv6"] = ipv6
  value["mtu"] = mtu == "" ? 1280 : mtu
  value["private_key"] = private_key
  value[firewall] = ""
  if (listen_port != "") value["listen_port"] = listen_port
  if (names == "hook" && has_names) value["names"] = ""
  for (i = 1; i <= templates; i++) write_line(template[i])
}

function write_line(line,    slots, count, i, slot, at) {
  count = split("nftables none names address ipv4 ipv6 listen_port mtu private_key", slots, " ")
  for (i = 1; i <= count; i++) {
    slot = "<" slots[i] ">"
    while (at = index(line, slot)) {
      if (!(slots[i] in value)) return
      line = substr(line, 1, at - 1) value[slots[i]] substr(line, at + length(slot))
    }
  }
  if (line == "<peers>") write_peers()
  else if (line ~ /^<(peers|rules)_ipv[46]>$/) write_elements(substr(line, 2, 10))
  else print line
}

function write_peers() {
  for (peer = 1; peer <= peers; peer++) {
    print "\n[Peer]"
    if (label[peer] != "") print "# " label[peer]
    print "PublicKey = " key[peer] "\nPresharedKey = " psk[peer]
    print "AllowedIPs = " peer_ipv4[peer] "/32, " peer_ipv6[peer] "/128"
    if (endpoint_name[peer] != "")
      print (names == "hook" ? "#endpoint " : "#name ") key[peer] " endpoint " endpoint_name[peer]
    else if (endpoint[peer] != "") print "Endpoint = " endpoint[peer]
    if (keepalive[peer] != "") print "PersistentKeepalive = " keepalive[peer]
  }
}

function write_elements(of,    count, i, text) {
  count = of ~ /^peers/ ? peers : rules[of]
  if (count > 0) print "#nft     elements = {"
  for (i = 1; i <= count; i++) {
    text = of == "peers_ipv4" ? peer_ipv4[i] : of == "peers_ipv6" ? peer_ipv6[i] : rule[of, i]
    print "#nft       " text ","
  }
  if (count > 0) print "#nft     }"
}
