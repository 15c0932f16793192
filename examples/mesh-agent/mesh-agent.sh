#!/usr/bin/env bash
# Joins this host to the mesh and keeps it there: see README.md for the settings.
set -euo pipefail
export LC_ALL=C
umask 077

: "${MESH_URL:?the URL of the function, such as https://<project>.supabase.co/functions/v1/agent-mesh}"
: "${AGENT_ID:?the identifier of this agent}"
: "${AGENT_KEY_FILE:?a file that holds the agent key, ak_…}"
INTERFACE=${INTERFACE:-mesh0}
CONFIG_DIR=${CONFIG_DIR:-/etc/wireguard}
FIREWALL=${FIREWALL:-nftables}
POLL_SECONDS=${POLL_SECONDS:-}

readonly CONFIG=$CONFIG_DIR/$INTERFACE.conf
readonly PRIVATE_KEY=$CONFIG_DIR/$INTERFACE.key
readonly LONGEST_PAUSE_SECONDS=300
# WireGuard gives a session up after this long (REJECT_AFTER_TIME).
readonly SESSION_SECONDS=180

if [[ -n $POLL_SECONDS && ! $POLL_SECONDS =~ ^[1-9][0-9]{0,3}$ ]]; then
  echo "POLL_SECONDS: a number from 1 to 9999 without leading zeros, not $POLL_SECONDS" >&2
  exit 1
fi

# Held by this shell until it ends, however it ends. The file stays: whoever removed it would let two
# agents in, one with the old file and one with a new one.
exec 9>>"$CONFIG_DIR/$INTERFACE.lock"
flock -n 9 || {
  echo "$INTERFACE: another agent runs for this interface: it holds $CONFIG_DIR/$INTERFACE.lock" >&2
  exit 1
}

# Beside the configuration, so that a new one replaces it whole; what a killed run left goes first.
work=$CONFIG_DIR/.$INTERFACE.mesh-agent
rm -rf "$work"
mkdir "$work"
status=
heartbeat_seconds=30
registered_pubkey=
applied_version=
lookups=

# --- talking to the service ---------------------------------------------------------------------

# request <path> <json>: sets status (000: no answer), leaves the answer in $work/answer. curl takes
# its time, so not in a subshell, which would hold the lock for as long.
request() {
  : >"$work/answer"
  curl --silent --show-error --connect-timeout 5 --max-time 15 \
    --header @<(printf 'authorization: Bearer %s\n' "$(<"$AGENT_KEY_FILE")") \
    --header 'content-type: application/json' --data @- \
    --output "$work/answer" --dump-header "$work/headers" --write-out '%{http_code}' \
    "$MESH_URL$1" <<<"$2" >"$work/status" && status=$(<"$work/status") || status=000
  [[ $status == 200 ]] && return
  log "$1: $status $(jq -r '.error.message // empty' "$work/answer" 2>/dev/null || true)"
  return 1
}

# answered_number <field>: jq alone, in older versions, takes an empty answer for a good one.
answered_number() {
  jq -r ".$1" "$work/answer" 2>"$work/errors" | grep -xE '[0-9]{1,15}' || {
    log "an answer without $1"
    return 1
  }
}

register() {
  request /peer/register "$(jq -n --arg agent_id "$AGENT_ID" --arg pubkey "$1" \
    --arg endpoint "${ENDPOINT:-}" --arg listen_port "${LISTEN_PORT:-}" \
    '{$agent_id, $pubkey, endpoint: (if $endpoint == "" then null else $endpoint end)}
      + if $listen_port == "" then {} else {listen_port: ($listen_port | tonumber)} end')" || return
  registered_pubkey=$1
  applied_version=
  log "registered: $(jq -r '.addresses | join(", ")' "$work/answer")"
}

# Sets served_version and heartbeat_seconds.
heartbeat() {
  if ! request /peer/heartbeat "$(jq -n --arg agent_id "$AGENT_ID" --arg version "$applied_version" \
    '{$agent_id} + if $version == "" then {} else {config_version: ($version | tonumber)} end')"; then
    # The operator removed this peer; it comes back without a rule, so nothing is open to it.
    [[ $status != 404 ]] || registered_pubkey=
    return 1
  fi
  served_version=$(answered_number config_version) || return
  local asked
  asked=$(answered_number heartbeat_interval_seconds) || return
  [[ ! $asked =~ ^[1-9][0-9]{0,3}$ ]] || heartbeat_seconds=$asked
}

# Fetches the configuration and applies it. Only a whole answer gets as far as the tunnel. Names are
# hidden from the hook that looks them up: refresh_endpoints does that, and stops when peers change.
update() {
  request /wg_config "$(jq -n --arg agent_id "$AGENT_ID" --arg private_key_file "$PRIVATE_KEY" \
    --arg firewall "$FIREWALL" '{$agent_id, $private_key_file, $firewall}')" || return
  local version
  version=$(answered_number config_version) || return
  jq -ej '.config' "$work/answer" | sed 's/^#endpoint /#name /' >"$work/new" || return
  grep -q '^\[Interface\]$' "$work/new" || return
  # One that ended later would bring a peer back that the new configuration does not have.
  stop_lookups
  if ! is_up; then
    bring_up
  elif [[ -e $CONFIG ]] && has_same_interface; then
    apply_in_place
  else
    take_down
    bring_up
  fi || return
  applied_version=$version
  log "config_version $version is applied"
}

# --- the tunnel ---------------------------------------------------------------------------------

is_up() {
  wg show "$INTERFACE" >/dev/null 2>&1
}

bring_up() {
  mv "$work/new" "$CONFIG" || return
  wg-quick up "$CONFIG" 2>"$work/errors" || { log "$(without_keys | tail -n 3)"; return 1; }
}

# wg repeats a line that it does not take, and the line may hold a secret.
without_keys() {
  sed 's|[A-Za-z0-9+/]\{40,\}=*|(a key)|g' "$work/errors"
}

# With the file that it came up with, whose PostDown belongs to it.
take_down() {
  wg-quick down "$CONFIG" >/dev/null 2>&1 || ip link delete "$INTERFACE" 2>/dev/null || true
}

# Whether the new file changes only what can change under a live tunnel: not the addresses, and not
# the port, which the firewall knows.
has_same_interface() {
  local kept='^(Address|MTU|Table|PostDown) = |^PostUp = (ip -6 address|wg set)' port
  port=$(sed -n 's/^ListenPort = //p' "$work/new")
  [[ $(grep -E "$kept" "$CONFIG") == "$(grep -E "$kept" "$work/new")" &&
    $(wg show "$INTERFACE" public-key) == "$(wg pubkey <"$PRIVATE_KEY")" &&
    ${port:-any} =~ ^(any|$(wg show "$INTERFACE" listen-port))$ ]]
}

# The firewall before the peers. What goes into syncconf needs what the file leaves out, or the
# tunnel would lose its private key and its port; and it must not hold an endpoint, or a peer that
# has moved would be lost until it speaks again. It is whole before it is piped: wg would take the
# peers that a cut one leaves out for removed.
apply_in_place() {
  local peers
  sed '/^Endpoint = /d' "$work/new" >"$work/$INTERFACE.conf" || return
  run_hooks "$work/new" || return
  peers=$(wg-quick strip "$work/$INTERFACE.conf") || return
  printf '[Interface]\nPrivateKey = %s\nListenPort = %s\n%s\n' \
    "$(<"$PRIVATE_KEY")" "$(wg show "$INTERFACE" listen-port)" "$peers" |
    wg syncconf "$INTERFACE" /dev/stdin 2>"$work/errors" || { log "$(without_keys)"; return 1; }
  mv "$work/new" "$CONFIG"
}

# Somebody's `nft flush ruleset` would leave the tunnel open to every peer.
keep_firewall() {
  ! is_up || nft -t list table inet "agent_mesh_${INTERFACE//[+=]/_}" >/dev/null 2>&1 && return
  log "the firewall is gone: it is loaded again"
  [[ -e $CONFIG ]] && run_hooks "$CONFIG" && return
  log "the firewall does not load: the tunnel goes down"
  take_down
}

# As wg-quick runs them, which leaves them out of `strip`.
run_hooks() {
  # shellcheck disable=SC2034 # the hooks read it
  local CONFIG_FILE=$1 hook
  while IFS= read -r hook; do
    (eval "${hook//%i/$INTERFACE}") </dev/null || { log "failed: $hook"; return 1; }
  done < <(sed -n 's/^PostUp = //p' "$1")
}

# Gives the registered endpoint to every peer that has no live session and is not there already; a
# name is looked up again. In the background, since a lookup can take a minute, and shuffled: names
# that take it must not always come before the same others.
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
    (key in live) && !live[key] && current[key] != $2 { print $1, key, "endpoint", $2 }
  ' >"$work/endpoints" || return
  sed -n 's/^address //p' "$work/endpoints" |
    timeout 10 xargs -r -L 1 wg set "$INTERFACE" peer >/dev/null 2>&1 || true
  if looks_up; then return; fi
  sed -n 's/^name //p' "$work/endpoints" | shuf >"$work/names" || return
  timeout 60 xargs -r -P 64 -L 1 wg set "$INTERFACE" peer <"$work/names" >/dev/null 2>&1 &
  lookups=$!
}

# The shell's own word: once they have ended, any process may have their number.
looks_up() {
  [[ -n $lookups ]] && grep -qx "$lookups" <<<"$(jobs -pr)"
}

# Waits for their end: what is killed may be about to set a peer.
stop_lookups() {
  if looks_up; then
    { kill "$lookups" && wait "$lookups"; } 2>/dev/null || true
  fi
  lookups=
}

# --- the loop -----------------------------------------------------------------------------------

log() {
  printf '%s: %s\n' "$INTERFACE" "$*" >&2
}

# One round with the service.
meet() {
  local pubkey
  status=
  is_up || applied_version=
  pubkey=$(wg pubkey <"$PRIVATE_KEY") || return
  [[ $registered_pubkey == "$pubkey" ]] || register "$pubkey" || return
  heartbeat || return
  [[ $applied_version == "$served_version" ]] || update
}

# What was last applied still connects the peers while the service gives nothing that is usable,
# unless it says that this agent has no place in the mesh any more.
fall_back() {
  [[ $status != 40[134] ]] && ! is_up && [[ -e $CONFIG ]] || return 0
  cp "$CONFIG" "$work/new" && bring_up && log "the last configuration is up"
}

# pause <seconds>: a tenth more or less, so that agents do not come in step.
pause() {
  local milliseconds=$(($1 * (900 + RANDOM % 201)))
  sleep "$((milliseconds / 1000)).$(printf %03d $((milliseconds % 1000)))" &
  wait $! || true
}

# How long the service asked to be left alone. With leading zeros it would be an octal number.
retry_after() {
  local seconds
  seconds=$(sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9]\{1,4\}\).*/\1/p' "$work/headers" | tail -n 1) || true
  seconds=$((10#${seconds:-0}))
  echo "$((seconds < LONGEST_PAUSE_SECONDS ? seconds : LONGEST_PAUSE_SECONDS))"
}

# A second signal must not end this half-way.
leave() {
  trap '' TERM INT
  trap - EXIT
  ! is_up || take_down
  rm -rf "$work"
  # shellcheck disable=SC2046 # one argument for each job
  kill $(jobs -pr) 2>/dev/null || true
}

stay() {
  local failures=0 pause_seconds asked
  while true; do
    : >"$work/headers"
    keep_firewall
    if meet; then
      failures=0
      pause_seconds=${POLL_SECONDS:-$heartbeat_seconds}
    else
      fall_back || log "the last configuration does not come up"
      failures=$((failures + 1))
      pause_seconds=$((failures < 9 ? 2 ** failures : LONGEST_PAUSE_SECONDS))
      asked=$(retry_after)
      ((pause_seconds >= asked)) || pause_seconds=$asked
    fi
    if is_up; then refresh_endpoints || log "the endpoints are not refreshed"; fi
    pause "$pause_seconds"
  done
}

trap leave EXIT
trap 'trap "" TERM INT; exit 0' TERM INT

[[ -s $PRIVATE_KEY ]] || wg genkey >"$PRIVATE_KEY"

# What it starts does not get the lock, which a tunnel or a lookup would hold after this shell's end.
stay 9>&-
