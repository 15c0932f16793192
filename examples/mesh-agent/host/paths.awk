# Finds with which peers a tunnel works, and by which way, from what WireGuard knows of them.
#
#   wg show <interface> dump | awk -v now=<unix time> -v folder=<folder> -v has_endpoint=<yes or ""> \
#     -v told_at=<unix time of the last report> -v next_path=<its place after that> \
#     -f paths.awk part=state <folder>/paths part=forwarded <file of agentfiles mesh path> \
#     part=registered <configuration> part=dump -
#
# A handshake tells that a peer was there, up to three minutes ago. So a peer from which nothing has
# come for a while is asked, by any packet: whoever has a session answers within 10 s (WireGuard's
# passive keepalive). Who does not is silent.
#
# Leaves in the folder:
#   paths.new  what is known now, to be given the next time as paths
#   asked      the public keys of the peers to send something to
#   silent     the public keys of those that have a session, and do not answer
#   turns      a line for each peer with which the tunnel began or ceased to work
#   news       the same for people, and where a peer has gone
#   report     a list for the service, as JSON: first those with which the tunnel has turned since
#              the last report, then the others, in their turn
#   turn       the place where the next report goes on, and how many reports name all peers

BEGIN {
  FS = OFS = "\t"
  # REJECT_AFTER_TIME: a session lasts no longer.
  session_seconds = 180
  quiet_seconds = 15
  # Passive keepalives come after 10 s, and what is asked is looked for every 10 s.
  answer_seconds = 12
  # A tunnel that has just come up is not one that does not work. `agentfiles mesh path` takes less
  # to find a way. The second look, after 10 s, tells.
  patience_seconds = 9
  # What the service takes.
  most_reported = 64
  # So many places of a report are for those that have turned. The others go round.
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

# Says what has changed for the peer `key`, and puts it into the report.
function tell(works_now, at, handshake,    who, via, is_forwarded) {
  who = name[key] == "" ? key : name[key]
  # A port of this host: a program here forwards what is sent there, and may have said to where.
  is_forwarded = at ~ /^(127\.|\[::1\])/
  via = !works_now ? "none" : is_forwarded ? "relay" : "direct"
  # A program may say by which way after the tunnel works.
  way_now = ""
  if (is_forwarded && forwarded_at[key] == at) {
    if (works_now && way[key] != "none") via = way[key]
    if (way[key] == "direct") way_now = ", directly"
    if (outer[key] != "-") at = outer[key]
  }
  # For the next time.
  place = at
  if (works_now && works[key] != "yes") turn("yes", who ": connected, " (is_forwarded ? "by way of a program of this host" way_now : "directly") ", at " at)
  else if (works_now && is_forwarded && (at != endpoint[key] || way_now != told_way[key]))
    print who ": is reached by way of a program of this host" way_now ", at " at >(folder "/news")
  else if (works_now && at != endpoint[key]) print who ": has moved from " endpoint[key] " to " at >(folder "/news")
  else if (!works_now && works[key] == "yes") turn("no", who ": no connection any more; " why(at, handshake, is_forwarded))
  else if (!works_now && works[key] == "" && now - since[key] >= patience_seconds)
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

# As far as this host can know.
function why(at, handshake, is_forwarded) {
  if (is_forwarded) return "no way to it is found: neither punching nor a relay reaches it"
  if (handshake > 0) return "the last handshake was " (now - handshake) " s ago, and nothing comes from " at
  if (at != "(none)") return "no answer by UDP from " at
  if (key in registered) return registered[key] " does not resolve, or leads back to this host"
  if (has_endpoint == "") return "neither side has an endpoint: both may be behind NAT"
  return "it has no endpoint, and has not called this one"
}

# Whether another host could be told to send there. The service refuses what it could not.
function is_reachable(at) {
  return at != "(none)" && at !~ /%/ &&
    at !~ /^(0|127|169\.254|22[4-9]|2[3-5][0-9])\./ && at !~ /^\[(fe[89a-f]|ff|::|64:ff9b:)/
}
