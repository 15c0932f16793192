# Takes the data out of a configuration that was served, and fills it into own.conf. Of the served
# lines only these data are believed: addresses, port, MTU, peers, endpoints, and who may reach which
# port. Each is parsed, and written anew from what was parsed. Hooks and rules of nft are recognised
# and left out, however they are worded: own.conf has the agent's own. Any other line is refused,
# and then nothing is written.
#
#   awk -v firewall=nftables|none -v private_key=<path> -v names=hook|mark \
#     -f configuration.awk own.conf <served>
#
# With names=mark no hook looks up DNS names: they are marked by `#name`, for somebody else to do it.
# What it writes it also takes in, and writes it again unchanged.

FNR == 1 { file++ }
file == 1 { if (templates || $0 == "[Interface]") template[++templates] = $0; next }
section == "" { before_interface($0); next }
/^#nft / { section = "nft"; firewall_line(substr($0, 6)); next }
section == "nft" { unknown() }
$0 == "" || /^# / { comment(); next }
$0 == "[Peer]" { section = "peer"; peer = ++peers; next }
section == "interface" { interface_line($0); next }
{ peer_line($0) }

END {
  if (failed) exit 1
  if (address == "") refuse("it has no address")
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

# Takes a value that a section may have once, if `is_good`.
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
  else if (name == "#address") { take(name, parse_ipv6_network(value)); ipv6 = before(value, "/") }
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
  else if (name == "Endpoint") { take("endpoint", parse_endpoint(value, 0)); endpoint[peer] = value }
  else if (name == "PersistentKeepalive") { take(name, is_number(value, 0, 65535)); keepalive[peer] = value }
  else unknown()
}

# #endpoint <key of this peer> endpoint <name>:<port>
function named_endpoint(line,    words) {
  take("endpoint", split(line, words, " ") == 4 && line == words[1] " " key[peer] " endpoint " words[4] &&
    parse_endpoint(words[4], 1))
  endpoint_name[peer] = words[4]
  has_names = 1
}

# Of the ruleset, the elements of four sets are data. What its chains say is not.
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
function element(text,    words, count) {
  count = split(text, words, " ")
  if (owner[words[1]] != substr(set, 7)) unknown()
  if (set ~ /^peers/) { if (text != words[1]) unknown(); return }
  if (text != words[1] " . " words[3] " . " words[5] || words[3] !~ /^(tcp|udp)$/ || !is_number(words[5], 1, 65535))
    unknown()
  if (!((set, text) in is_rule)) rule[set, ++rules[set]] = text
  is_rule[set, text]
}

# --- values -------------------------------------------------------------------------------------

function before(text, mark) { return substr(text, 1, index(text, mark) - 1) }

function is_number(text, low, high) {
  return text ~ /^(0|[1-9][0-9]*)$/ && length(text) <= 5 && text + 0 >= low && text + 0 <= high
}

# Canonical base64 of 32 bytes.
function is_key(text) { return length(text) == 44 && text ~ /^[A-Za-z0-9+\/]*[AEIMQUYcgkosw048]=$/ }

# The number that a dotted quad stands for; -1 where it is none.
function ipv4_number(text,    octets, i, number) {
  if (split(text, octets, ".") != 4) return -1
  for (i = 1; i <= 4; i++) {
    if (!is_number(octets[i], 0, 255)) return -1
    number = number * 256 + octets[i]
  }
  return number
}

# The own address, and from then on what tells whether another one is in the mesh.
function parse_ipv4_network(text,    length_text, bits) {
  ipv4 = before(text, "/"); length_text = substr(text, length(ipv4) + 2)
  if (ipv4_number(ipv4) < 0 || !is_number(length_text, 8, 32)) return 0
  host_numbers = 1
  for (bits = length_text; bits < 32; bits++) host_numbers *= 2
  return 1
}

function parse_ipv6_network(text) { return text ~ /\/64$/ && expand(before(text, "/")) != "" }

function is_in_mesh(text) {
  if (text ~ /:/) return ipv6 != "" && substr(expand(text), 1, 20) == substr(expand(ipv6), 1, 20)
  return int(ipv4_number(text) / host_numbers) == int(ipv4_number(ipv4) / host_numbers)
}

# The eight groups of an IPv6 address, each with four digits; "" where the text is none.
function expand(text,    halves, left, right, count, i, groups, expanded) {
  if (text !~ /^[0-9a-f:]+$/ || text ~ /:::/ || text ~ /^:[^:]/ || text ~ /[^:]:$/) return ""
  if (split(text, halves, "::") > 2) return ""
  left = halves[1] == "" ? 0 : split(halves[1], groups, ":")
  expanded = pad(groups, left)
  right = 0
  if (index(text, "::")) {
    right = halves[2] == "" ? 0 : split(halves[2], groups, ":")
    if (left + right > 7) return ""
    for (i = left + right; i < 8; i++) expanded = expanded "0000:"
    expanded = expanded pad(groups, right)
  }
  return length(expanded) == 40 ? expanded : ""
}

# A group that is too long makes the whole too long.
function pad(groups, count,    i, padded) {
  for (i = 1; i <= count; i++) padded = padded substr("0000", length(groups[i]) + 1) groups[i] ":"
  return padded
}

# The tunnel addresses of a peer, which no other peer has.
function parse_allowed_ips(text,    words) {
  if (split(text, words, ", ") != 2 || text != words[1] ", " words[2]) return 0
  if (!sub(/\/32$/, "", words[1]) || !sub(/\/128$/, "", words[2])) return 0
  if (ipv4_number(words[1]) < 0 || expand(words[2]) == "" || !is_in_mesh(words[1])) return 0
  if (ipv6 != "" && !is_in_mesh(words[2])) return 0
  if (words[1] in owner || words[2] in owner || words[1] == ipv4 || words[2] == ipv6) return 0
  peer_ipv4[peer] = words[1]; owner[words[1]] = "ipv4"
  peer_ipv6[peer] = words[2]; owner[words[2]] = "ipv6"
  return 1
}

function parse_endpoint(text, is_name,    host) {
  if (!match(text, /:[0-9]+$/) || !is_number(substr(text, RSTART + 1), 1, 65535)) return 0
  host = substr(text, 1, RSTART - 1)
  if (is_name) return is_dns_name(host)
  if (sub(/^\[/, "", host)) {
    if (!sub(/\]$/, "", host) || expand(host) == "") return 0
  } else if (ipv4_number(host) < 0) return 0
  endpoint_host[peer] = host
  return 1
}

function is_dns_name(text) {
  return length(text) <= 253 && text ~ /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/ && text !~ /\.\.|\.-|-\./ &&
    text ~ /(^|\.)[a-z0-9-]*[a-z][a-z0-9-]*$/
}

# Whether packets to this address would stay on this host, or go into the tunnel again.
function leads_astray(host,    expanded) {
  if (is_in_mesh(host)) return 1
  if (host !~ /:/) return host ~ /^(0|127|169\.254|22[4-9]|2[345][0-9])\./
  expanded = expand(host)
  # Mapped IPv4: the service writes it as IPv4.
  if (expanded ~ /^0000:0000:0000:0000:0000:ffff:/) return 1
  # An IPv4 address in its last 32 bits: compatible, or for a translator.
  if (expanded ~ /^(0000:0000:0000:0000:0000:0000|0064:ff9b:0000:0000:0000:0000):/)
    return substr(expanded, 31) ~ /^(00|7f|a9fe|[ef])/
  return expanded ~ /^(fe[89a-f]|ff)/
}

# --- what is written ----------------------------------------------------------------------------

function write_own(    i) {
  value["address"] = address; value["ipv4"] = ipv4; value["mtu"] = mtu == "" ? 1280 : mtu
  value["private_key"] = private_key
  value[firewall] = ""
  if (ipv6 != "") value["ipv6"] = ipv6
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
    else if (endpoint[peer] != "" && !leads_astray(endpoint_host[peer])) print "Endpoint = " endpoint[peer]
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
