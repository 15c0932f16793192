# shellcheck shell=bash
# Watches whether the tunnel works with each peer. paths.awk says how. To be sourced with tunnel.sh.

# Whether the tunnel has begun or ceased to work with a peer since the service was told of it.
paths_have_turned=
# When it was told, by the shell's seconds and in Unix time.
paths_told_at=0
paths_told_since=0
# A report names up to 64 peers: the place where the next report continues, and the number of
# reports that it takes to name all of them.
next_path=0
path_reports=1
# At most so often it is told at once: some paths come and go.
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
  # A name may resolve to where a peer is now.
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

# Whether one report names all peers.
is_one_report_enough() {
  ((path_reports < 2))
}

# What is known of the peers ends with their tunnel.
forget_paths() {
  rm -f "$WORK/paths" "$WORK/report" "$WORK/silent" "$WORK/turn"
  path_reports=1
}

# ask_peers: sends a packet to each peer whose public key is read. No rule lets it in there, but
# WireGuard answers. The port is that of RFC 863, where nothing is done with it.
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

# For a host that has moved: its peers learn where it is from what it sends.
ask_all_peers() {
  [[ ! -e $CONFIG ]] || sed -n 's/^PublicKey = //p' "$CONFIG" | ask_peers
}
