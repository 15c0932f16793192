# shellcheck shell=bash
# Where this host and its peers are reached: notices that this host has moved, gives peers their
# registered endpoints, and looks up names. To be sourced with tunnel.sh.

# WireGuard gives up a session after this long (REJECT_AFTER_TIME).
readonly SESSION_SECONDS=180

# How often the names of silent peers are looked up.
readonly NAMES_SECONDS=30

# The process that looks up names, if one was started, and when that was.
lookups=
looked_up_at=
# The addresses from which this host sends, by IPv4 and IPv6.
network=

# Whether this host sends from another address than the last time.
follow_network() {
  local before=$network
  network="$(source_address 192.0.2.1) $(source_address 2001:db8::1)"
  [[ -n $before && $network != "$before" ]]
}

# source_address <address>: prints the address from which this host would send there, if it can.
source_address() {
  ip -o route get "$1" 2>/dev/null | sed -n 's/.* src \([^ ]*\).*/\1/p' || true
}

# Prints the endpoint to register.
own_endpoint() {
  echo "$ENDPOINT"
}

# Gives its registered endpoint to every peer that has no live session and another endpoint. Names
# are looked up again, in the background because one can take a minute, and in random order: slow
# names must not hold up the same others each time.
refresh_endpoints() {
  [[ -e $CONFIG ]] || return 0
  {
    wg show "$INTERFACE" latest-handshakes | sed 's/^/handshake /'
    wg show "$INTERFACE" endpoints | sed 's/^/current /'
    sed -n -e 's/^PublicKey = /registered /p' -e 's/^Endpoint = /address /p' \
      -e 's/^#name [^ ]* endpoint /name /p' "$CONFIG"
  } | awk -v now="$(date +%s)" -v session="$SESSION_SECONDS" '
    $1 == "handshake" { live[$2] = now - $3 < session; next }
    $1 == "current" { current[$2] = $3; next }
    $1 == "registered" { key = $2; next }
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

looks_up() {
  runs "$lookups"
}

stop_lookups() {
  stop "$lookups"
  lookups=
  looked_up_at=
}
