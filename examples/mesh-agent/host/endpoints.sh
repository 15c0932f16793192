# shellcheck shell=bash
# The endpoints of this host and its peers: notices that this host has moved, gives peers their
# registered endpoints, and looks up names. Source this file with tunnel.sh.

# WireGuard gives up a session after this long (REJECT_AFTER_TIME).
readonly SESSION_SECONDS=180

# Contains ENDPOINT once its address was found to be this host's own.
readonly ENDPOINT_NOTE=$CONFIG_DIR/$INTERFACE.endpoint
# How often the names of silent peers are looked up.
readonly NAMES_SECONDS=30

# The file that `agentfiles mesh path` writes while it runs on this host: its own endpoints, the
# peers whose packets it forwards, and the peers for which it is too early to say that there is no
# path. It rewrites the file every few seconds. An older file was left behind by a process that was
# killed.
readonly PATH_FILE=$CONFIG_DIR/$INTERFACE.path
readonly PATH_FILE_SECONDS=30
# The lock of that process. It does not exist on a host where `agentfiles mesh path` never ran.
# shellcheck disable=SC2034 # service.sh reads it
readonly PATH_LOCK=$PATH_FILE.lock

# The process that looks up names, and when it was started; empty if none was started.
lookups=
looked_up_at=
# The addresses from which this host sends, by IPv4 and IPv6, and the endpoint to register.
network=
own_endpoint=
# The endpoints to register after that one, separated by spaces.
path_endpoints=
# The text of the file of `agentfiles mesh path` at the last check, and at the one before it.
path_text=
path_text_before=

# require_endpoint: fails with a message unless ENDPOINT has a form that this agent knows. The
# service checks the rest.
require_endpoint() {
  [[ ! $ENDPOINT =~ ^auto || $ENDPOINT =~ ^auto:[1-9][0-9]{0,4}$ ]] && return
  log "ENDPOINT must be <host>:<port> or auto:<port>, not $ENDPOINT"
  return 1
}

# Sets own_endpoint. Succeeds if this host now sends from another address than before.
follow_network() {
  local before=$network ipv4 ipv6
  ipv4=$(source_address 192.0.2.1)
  ipv6=$(source_address 2001:db8::1)
  network="$ipv4 $ipv6"
  find_own_endpoint
  path_text_before=$path_text
  read_path_file path_text
  find_path_endpoints
  [[ -n $before && $network != "$before" ]]
}

# source_address <address>: prints the address from which this host would send to <address>, if
# other hosts may be able to reach this host there.
source_address() {
  ip -o route get "$1" 2>/dev/null | sed -n 's/.* src \([^ ]*\).*/\1/p' |
    grep -vE '^(127\.|169\.254\.|::1$|fe80:)' || true
}

# Sets own_endpoint. This is ENDPOINT, except in two cases, in which it follows the host's address:
# with `auto`, or if ENDPOINT's address was this host's own and no longer is. ENDPOINT_NOTE records
# that it was, for an agent that starts later. An address that was never this host's own belongs to
# the NAT in front of it.
# shellcheck disable=SC2034 # mesh-agent.sh reads it
find_own_endpoint() {
  local host=${ENDPOINT%:*} port=${ENDPOINT##*:} ipv4=${network% *} ipv6=${network#* }
  own_endpoint=$ENDPOINT
  if [[ $host == auto ]]; then
    own_endpoint=
    host=${ipv4:-${ipv6:+[$ipv6]}}
  elif [[ ! $host =~ ^([0-9.]+|\[[0-9a-f:.]+\])$ ]]; then
    return 0
  elif [[ -n $(ip -o address show to "${host//[][]/}" 2>/dev/null) ]]; then
    has_own_endpoint || { echo "$ENDPOINT" >"$ENDPOINT_NOTE"; } 2>/dev/null || true
    return 0
  elif ! has_own_endpoint; then
    return 0
  elif [[ $host == *:* ]]; then
    host=${ipv6:+[$ipv6]}
  else
    host=$ipv4
  fi
  [[ -z $host ]] || own_endpoint=$host:$port
}

# Whether `agentfiles mesh path` runs, judging by the age of its file.
has_paths() {
  local written
  written=$(stat -c %Y "$PATH_FILE" 2>/dev/null) && (($(date +%s) - written < PATH_FILE_SECONDS))
}

# Whether the text of PATH_FILE has changed since the host was last checked. This starts no process,
# because it is called every second.
has_path_news() {
  local text
  read_path_file text
  [[ $text != "$path_text" ]]
}

# Prints the public keys of the peers that `agentfiles mesh path` forwards in $path_text, and not
# yet in $path_text_before.
newly_forwarded() {
  awk '
    $1 != "peer" { next }
    FNR == NR { before[$2]; next }
    !($2 in before) { print $2 }
  ' <(echo "$path_text_before") <(echo "$path_text")
}

# read_path_file <variable>: sets the variable to the text of PATH_FILE.
read_path_file() {
  printf -v "$1" ''
  [[ ! -e $PATH_FILE ]] || { IFS= read -r -d '' "$1" <"$PATH_FILE"; } 2>/dev/null || true
}

# Sets path_endpoints. If no port is configured, the tunnel's current port is registered with them.
# Otherwise the service would take the port of the first path endpoint for the tunnel's.
# shellcheck disable=SC2034 # service.sh reads it
find_path_endpoints() {
  path_endpoints=
  has_paths && [[ -n $own_endpoint${LISTEN_PORT:-} || -n $(listen_port) ]] || return 0
  path_endpoints=$(sed -n 's/^endpoint \([][0-9a-fA-F.:]*\)$/\1/p' "$PATH_FILE" |
    grep -vxF -e "${own_endpoint:-none}" | head -n 4 | tr '\n' ' ') || true
}

listen_port() {
  wg show "$INTERFACE" listen-port 2>/dev/null || true
}

has_own_endpoint() {
  [[ -e $ENDPOINT_NOTE && $(<"$ENDPOINT_NOTE") == "$ENDPOINT" ]]
}

# note_moves <configuration> <new configuration>: leaves in $WORK/moved the public keys of the peers
# whose registered endpoint has changed.
note_moves() {
  awk '
    $1 == "PublicKey" { key = $3; next }
    $1 != "Endpoint" && $1 != "#name" { next }
    FNR == NR { registered[key] = $NF; next }
    key in registered && registered[key] != $NF { print key }
  ' "$1" "$2" >"$WORK/moved"
}

# Sets the endpoint of every peer to its registered endpoint. A peer with a live session keeps its
# current endpoint, unless it is silent or has just registered another one. Names are looked up
# again. This runs in the background because one lookup can take a minute, and in random order so
# that slow names do not delay the same peers each time. If a program on this host forwards a peer's
# packets, the endpoint stays that program's port.
refresh_endpoints() {
  [[ -e $CONFIG ]] || return 0
  local forwards=
  ! has_paths || forwards=yes
  touch "$WORK/moved" "$WORK/silent"
  {
    wg show "$INTERFACE" latest-handshakes | sed 's/^/handshake /'
    cat "$WORK/moved" "$WORK/silent" | sed 's/^/gone /'
    wg show "$INTERFACE" endpoints | sed 's/^/current /'
    sed -n -e 's/^PublicKey = /registered /p' -e 's/^Endpoint = /address /p' \
      -e 's/^#name [^ ]* endpoint /name /p' "$CONFIG"
  } | awk -v now="$(date +%s)" -v session="$SESSION_SECONDS" -v forwards="$forwards" '
    $1 == "handshake" { live[$2] = now - $3 < session; next }
    $1 == "gone" { if ($2 in live) live[$2] = 0; next }
    $1 == "current" { current[$2] = $3; next }
    $1 == "registered" { key = $2; next }
    forwards != "" && current[key] ~ /^127\./ { next }
    (key in live) && !live[key] && current[key] != $2 {
      host = port = $2
      sub(/:[0-9]+$/, "", host)
      sub(/.*:/, "", port)
      gsub(/[][]/, "", host)
      print $1, key, host, port
    }
  ' >"$WORK/endpoints" || return
  sed -n 's/^address //p' "$WORK/endpoints" | timeout 10 xargs -r -P 8 -L 1 \
    "$AGENT_FOLDER/host/set-endpoint.sh" "$INTERFACE" >/dev/null 2>&1 || true
  ! looks_up || return 0
  [[ -z $looked_up_at ]] || ((SECONDS - looked_up_at >= NAMES_SECONDS)) || return 0
  sed -n 's/^name //p' "$WORK/endpoints" | shuf >"$WORK/names" || return
  timeout 60 xargs -r -P 64 -L 1 \
    "$AGENT_FOLDER/host/set-endpoint.sh" "$INTERFACE" <"$WORK/names" >/dev/null 2>&1 &
  lookups=$!
  looked_up_at=$SECONDS
}

look_up_soon() {
  looked_up_at=
}

looks_up() {
  runs "$lookups"
}

stop_lookups() {
  stop "$lookups"
  lookups=
  look_up_soon
}
