# Finds with which peers a tunnel works, and by which way, from WireGuard's state.
#
#   wg show <interface> dump | awk -v now=<unix time> -v folder=<folder> -v has_endpoint=<yes or ""> \
#     -v told_at=<unix time of the last report> -v next_path=<its place after that> \
#     -f paths.awk part=state <folder>/paths part=forwarded <file of agentfiles mesh path> \
#     part=registered <configuration> part=dump -
#
# A handshake only shows that a peer was there up to three minutes ago. So a peer from which nothing
# has come for a while is sent any packet. A peer with a session answers within 10 s (WireGuard's
# passive keepalive). A peer that does not answer is silent.
#
# Leaves in the folder:
#   paths.new  the state after this run, which the next run reads as paths
#   asked      the public keys of the peers to send a packet to
#   silent     the public keys of the peers that have a session and do not answer
#   turns      a line for each peer with which the tunnel began or ceased to work
#   news       the same in words, for the log, and where a peer has moved
#   report     a list for the service, as JSON: first the peers with which the tunnel began or
#              ceased to work since the last report, then the others, which take turns
#   turn       the place where the next report goes on, and how many reports name all peers

BEGIN {
  FS = OFS = "\t"
  # The longest lifetime of a session (REJECT_AFTER_TIME).
  session_seconds = 180
  quiet_seconds = 15
  # A passive keepalive comes after 10 s, and answers are checked every 10 s.
  answer_seconds = 12
  # How long a new peer may take before it counts as not connected. The second check, after 10 s,
  # decides. While `agentfiles mesh path` seeks a path to the peer, it is too early. When it has
  # given up on a peer that it forwards, nothing else is waited for.
  patience_seconds = 9
  # The longest list that the service accepts.
  most_reported = 64
  # The most places in a report for peers with which the tunnel began or ceased to work. The other
  # peers take turns.
  most_turned = 32
  count = added = 0
  split("paths.new asked silent turns news report turn", files, " ")
  for (i in files) printf "" >(folder "/" files[i])
}

part == "state" {
  known[$1]; received[$1] = $2; heard_at[$1] = $3; asked_at[$1] = $4
  works[$1] = $5; since[$1] = $6; endpoint[$1] = $7; told_way[$1] = $8
  next
}

part == "forwarded" {
  split($0, words, " ")
  if (words[1] == "seeking") is_sought[words[2]]
  if (words[1] != "peer") next
  forwarded_at[words[2]] = words[3]; way[words[2]] = words[4]; outer[words[2]] = words[5]
  next
}

part == "registered" {
  split($0, words, " ")
  if ($0 ~ /^# [A-Za-z0-9][A-Za-z0-9._:@-]*$/) label = words[2]
  else if (words[1] == "PublicKey") { key = words[3]; name[key] = label; label = "" }
  else if (words[1] == "Endpoint") registered[key] = words[3]
  else if (words[1] == "#name") registered[key] = words[4]
  next
}

# The first line of the dump is about the interface, the others are about its peers.
!interfaces++ { next }

{
  key = $1
  if (!(key in known)) { received[key] = $6; heard_at[key] = since[key] = now; asked_at[key] = 0 }
  if ($6 != received[key]) { heard_at[key] = now; asked_at[key] = 0 }
  has_session = $5 > 0 && now - $5 < session_seconds
  is_silent = asked_at[key] > 0 && now - asked_at[key] >= answer_seconds
  if (has_session && !is_silent && $3 != "(none)" && now - heard_at[key] >= quiet_seconds) {
    if (asked_at[key] == 0) asked_at[key] = now
    print key >(folder "/asked")
  }
  if (has_session && is_silent) print key >(folder "/silent")
  tell(has_session && !is_silent, $3, $5)
  print key, $6, heard_at[key], asked_at[key], works[key], since[key], place, way_now >(folder "/paths.new")
}

END {
  printf "[" >(folder "/report")
  for (i = 0; i < count && added < most_turned; i++) if (turned_at[i] >= told_at) add(i)
  for (i = 0; i < count && added < most_reported; i++) add((next_path + i) % count)
  print "]" >(folder "/report")
  print (count ? (next_path + i) % count : 0) " " int((count + most_reported - 1) / most_reported) >(folder "/turn")
}

function add(i) {
  if (i in is_added) return
  is_added[i]
  printf "%s%s", (added++ ? ", " : ""), entries[i] >(folder "/report")
}

# Logs what has changed for the peer `key`, and puts the peer into the report.
function tell(works_now, at, handshake,    who, via, is_forwarded) {
  who = name[key] == "" ? key : name[key]
  # A port of this host belongs to a program here that forwards the packets, and that may have told
  # where to.
  is_forwarded = at ~ /^(127\.|\[::1\])/
  via = !works_now ? "none" : is_forwarded ? "relay" : "direct"
  # The program may tell the way only after the tunnel works.
  way_now = ""
  if (is_forwarded && forwarded_at[key] == at) {
    if (works_now && way[key] != "none") via = way[key]
    if (way[key] == "direct") way_now = ", directly"
    if (outer[key] != "-") at = outer[key]
  }
  # For the next run.
  place = at
  if (works_now && works[key] != "yes") turn("yes", who ": connected, " (is_forwarded ? "by way of a program of this host" way_now : "directly") ", at " at)
  else if (works_now && is_forwarded && (at != endpoint[key] || way_now != told_way[key]))
    print who ": is reached by way of a program of this host" way_now ", at " at >(folder "/news")
  else if (works_now && at != endpoint[key]) print who ": has moved from " endpoint[key] " to " at >(folder "/news")
  else if (!works_now && works[key] == "yes") turn("no", who ": no connection any more; " why(at, handshake, is_forwarded))
  else if (!works_now && works[key] == "" && is_overdue(key, is_forwarded))
    turn("no", who ": no connection; " why(at, handshake, is_forwarded))

  if (name[key] == "") return
  turned_at[count] = since[key]
  entries[count++] = "{\"agent_id\": \"" name[key] "\", \"handshake_age_seconds\": " \
    (handshake > 0 ? (now > handshake ? now - handshake : 0) : "null") \
    ", \"endpoint\": " (is_reachable(at) ? "\"" at "\"" : "null") ", \"via\": \"" via "\"}"
}

function turn(state, text) {
  works[key] = state
  since[key] = now
  print key >(folder "/turns")
  print text >(folder "/news")
}

# Whether to report that there is no connection to the peer `key`, if there never was one.
function is_overdue(key, is_forwarded) {
  if (key in is_sought) return 0
  return now - since[key] >= patience_seconds || (is_forwarded && way[key] != "")
}

# The reason, as far as this host can know.
function why(at, handshake, is_forwarded) {
  if (is_forwarded) return "no way to it is found: neither punching nor a relay reaches it"
  if (handshake > 0) return "the last handshake was " (now - handshake) " s ago, and nothing comes from " at
  if (at != "(none)") return "no answer by UDP from " at
  if (key in registered) return registered[key] " does not resolve, or leads back to this host"
  if (has_endpoint == "") return "neither side has an endpoint: both may be behind NAT"
  return "it has no endpoint, and has not called this one"
}

# Whether another host could send to this endpoint. The service refuses other endpoints.
function is_reachable(at) {
  return at != "(none)" && at !~ /%/ &&
    at !~ /^(0|127|169\.254|22[4-9]|2[3-5][0-9])\./ && at !~ /^\[(fe[89a-f]|ff|::|64:ff9b:)/
}
