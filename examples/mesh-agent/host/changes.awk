# Finds the changes that make the peers of a running tunnel match a configuration. An unchanged peer
# appears in no change. `wg syncconf` would instead set the addresses of every peer again, and lose
# packets between removing the old addresses and adding the new ones.
#
#   wg show <interface> dump | awk -v folder=<folder> -f changes.awk - <configuration>
#
# Leaves in the folder, which has a folder `psks` in it:
#   known      the public keys of the peers that the tunnel has, one per line
#   removals   arguments of `wg set`, three for each peer that the configuration does not have
#   changes    arguments of `wg set`, four for each PSK, addresses or keepalive that differ. A PSK is
#              named by its file, psks/<number>; this also adds new peers
#   greetings  the same for the addresses and the keepalive of new peers. Set them after the peer's
#              endpoint: a keepalive sends a handshake at once, an address with the first packet. If
#              the peer has no endpoint by then, the next handshake is sent after 5 s
#              (REKEY_TIMEOUT)

BEGIN {
  known = folder "/known"; removals = folder "/removals"
  changes = folder "/changes"; greetings = folder "/greetings"
  # Creates all files, and empties those of an earlier change.
  printf "" >known; printf "" >removals; printf "" >changes; printf "" >greetings
}

# The first line of the dump is about the interface, the others are about its peers.
NR == FNR {
  if (FNR == 1) next
  runs[$1]
  psk[$1] = $2 == "(none)" ? "" : $2
  addresses[$1] = $4 == "(none)" ? "" : $4
  keepalive[$1] = $8
  print $1 >known
  next
}

/^PublicKey = / { order[++count] = key = $3; wanted[key]; wanted_keepalive[key] = "off" }
/^PresharedKey = / { wanted_psk[key] = $3 }
/^AllowedIPs = / { wanted_addresses[key] = $3 $4 }
/^PersistentKeepalive = / { wanted_keepalive[key] = $3 }

END {
  for (key in runs) if (!(key in wanted)) print "peer", key, "remove" >removals
  for (i = 1; i <= count; i++) {
    key = order[i]
    is_new = !(key in runs)
    if (is_new || psk[key] != wanted_psk[key]) print "peer", key, "preshared-key", psk_file(key) >changes
    output = is_new ? greetings : changes
    if (!same_addresses(addresses[key], wanted_addresses[key]))
      print "peer", key, "allowed-ips", wanted_addresses[key] >output
    if ((is_new ? "off" : keepalive[key]) != wanted_keepalive[key])
      print "peer", key, "persistent-keepalive", wanted_keepalive[key] >output
  }
}

# wg reads an empty file as "no PSK".
function psk_file(key,    name) {
  if (wanted_psk[key] == "") return "/dev/null"
  name = "psks/" ++psks
  print wanted_psk[key] >(folder "/" name)
  close(folder "/" name)
  return name
}

# Whether two comma-separated lists have the same addresses. WireGuard keeps no order.
function same_addresses(one, other,    list, others, i) {
  if (split(one, list, ",") != split(other, others, ",")) return 0
  for (i in list) if (index("," other ",", "," list[i] ",") == 0) return 0
  return 1
}
