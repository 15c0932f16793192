# shellcheck shell=bash
# Watches whether the tunnel works with each peer. paths.awk says how. Source this file with
# tunnel.sh.

# Set if the tunnel has begun or ceased to work with a peer since the last report to the service.
paths_have_turned=
# When the last report was sent, in the shell's SECONDS and in Unix time.
paths_told_at=0
paths_told_since=0
# A report names up to 64 peers: the place where the next report continues, and the number of
# reports that it takes to name all of them.
next_path=0
path_reports=1
# The shortest time between two reports that do not wait for a heartbeat: some paths come and go.
readonly PATH_NEWS_SECONDS=30

# Logs with which peers the tunnel begins or ceases to work. Leaves in $WORK/report what to tell the
# service, and in $WORK/silent the peers that do not answer.
watch_paths() {
  [[ -e $CONFIG ]] && is_up || return 0
  local line forwarded=/dev/null
  ! has_paths || forwarded=$PATH_FILE
  touch "$WORK/paths"
  wg show "$INTERFACE" dump | awk -v now="$(date +%s)" -v folder="$WORK" \
    -v has_endpoint="${own_endpoint:+yes}" -v told_at="$paths_told_since" \
    -v next_path="$next_path" -f "$AGENT_FOLDER/host/paths.awk" \
    part=state "$WORK/paths" part=forwarded "$forwarded" \
    part=registered "$CONFIG" part=dump - || return
  mv "$WORK/paths.new" "$WORK/paths" || return
  while IFS= read -r line; do log "$line"; done <"$WORK/news"
  ask_peers <"$WORK/asked"
  [[ -s $WORK/turns ]] || return 0
  paths_have_turned=yes
  # A peer's name may now resolve to another address.
  look_up_soon
}

is_path_news_due() {
  [[ -n $paths_have_turned ]] && ((SECONDS - paths_told_at >= PATH_NEWS_SECONDS))
}

note_paths_told() {
  paths_told_at=$SECONDS
  paths_told_since=$(date +%s)
  paths_have_turned=
  [[ ! -s $WORK/turn ]] || read -r next_path path_reports <"$WORK/turn"
}

# Whether one report can name all peers.
is_one_report_enough() {
  ((path_reports < 2))
}

# Forgets what is known about the peers, because it ends with their tunnel.
forget_paths() {
  rm -f "$WORK/paths" "$WORK/report" "$WORK/silent" "$WORK/turn"
  path_reports=1
}

# ask_peers: reads public keys, and sends a packet to each of these peers. Their firewalls drop the
# packet, but WireGuard answers. The port is that of the discard service (RFC 863).
ask_peers() {
  local ipv4
  awk '
    FILENAME == "-" { asked[$1]; next }
    $1 == "PublicKey" { key = $3 }
    $1 == "AllowedIPs" && key in asked { sub(/\/32,$/, "", $3); print $3 }
  ' - "$CONFIG" | while read -r ipv4; do
    { echo >"/dev/udp/$ipv4/9"; } 2>/dev/null || true
  done
}

# Sends a packet to every peer after this host has moved: the peers learn its new address from that.
ask_all_peers() {
  [[ ! -e $CONFIG ]] || sed -n 's/^PublicKey = //p' "$CONFIG" | ask_peers
}
