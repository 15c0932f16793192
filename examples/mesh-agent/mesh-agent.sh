#!/usr/bin/env bash
# Joins this host to the mesh and keeps it there. README.md lists the settings. This file talks to
# the service and decides when; tunnel.sh, beside it, does what has to be done on the host, and
# configuration.sh decides what is believed of what was served. `mesh-agent.sh check <file>` does
# that alone.
set -euo pipefail
export LC_ALL=C
umask 077

# shellcheck source-path=SCRIPTDIR source=configuration.sh
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/configuration.sh"

if [[ ${1:-} == check && $# == 2 ]]; then
  check "$2"
  exit
elif (($# > 0)); then
  echo "usage: mesh-agent.sh [check <file>]" >&2
  exit 1
fi

: "${MESH_URL:?the URL of the function, such as https://<project>.supabase.co/functions/v1/agent-mesh}"
: "${AGENT_ID:?the identifier of this agent}"
: "${AGENT_KEY_FILE:?a file that holds the agent key, ak_…}"
INTERFACE=${INTERFACE:-mesh0}
CONFIG_DIR=${CONFIG_DIR:-/etc/wireguard}
FIREWALL=${FIREWALL:-nftables}
POLL_SECONDS=${POLL_SECONDS:-}

readonly LONGEST_PAUSE_SECONDS=300

# shellcheck source-path=SCRIPTDIR source=tunnel.sh
source "$AGENT_FOLDER/tunnel.sh"

# The last answer's HTTP status, or 000 where there was none, and how many whole seconds it took.
status=
answer_seconds=
heartbeat_seconds=30
registered_pubkey=
# The config_version that runs; empty while the tunnel is down.
applied_version=
# Empty until the tunnel is known to be all of the last configuration: an agent before this one may
# have been killed while it changed it.
is_complete=
# The config_version that the last heartbeat was told.
served_version=
# How many rounds in a row have failed.
failures=0
# How many heartbeats in a row were to wait and did not: they failed, or were answered at once.
# At most 20, where the pause that is made of it is longer than any interval.
fruitless_waits=0
# The longest wait that the service takes, or less than what something on the way has cut off.
longest_wait_seconds=140

# What the service said may be part of it, and is neither to fill the disk nor to command the
# terminal that shows it.
log() {
  local text=$*
  text=${text:0:1000}
  printf '%s: %s\n' "$INTERFACE" "${text//[^[:print:]]/?}" >&2
}

# --- talking to the service ---------------------------------------------------------------------

# request <path> <json> [<seconds>]: sets status and answer_seconds, leaves the answer in
# $WORK/answer, and fails unless it is 200. The service may wait for so many seconds.
# curl replaces its subshell, which would hold the lock until curl ends, even after this shell.
# It runs in the background, so that a signal need not wait for its end.
request() {
  local ended=0 reason="no answer"
  : >"$WORK/answer"
  bounded_curl --silent --show-error --connect-timeout 5 --max-time "$((15 + ${3:-0}))" \
    --header @<(printf 'authorization: Bearer %s\n' "$(<"$AGENT_KEY_FILE")") \
    --header 'content-type: application/json' --data @- \
    --output "$WORK/answer" --dump-header "$WORK/headers" \
    --write-out '%{http_code} %{time_total}\n' "$MESH_URL$1" <<<"$2" >"$WORK/status" &
  wait $! || ended=$?
  ((ended == 0)) && IFS='. ' read -r status answer_seconds _ <"$WORK/status" || status=000
  [[ $status == 200 ]] && return
  if [[ $ended == 23 || $ended == 63 ]]; then
    reason="the answer is longer than $LONGEST_ANSWER_MIB MiB, or $WORK cannot be written to"
  elif [[ $status != 000 ]]; then
    reason="$status $(jq -r '.error.message // empty' "$WORK/answer" 2>/dev/null || true)"
  fi
  log "$1: $reason"
  return 1
}

# answered_number <field>: prints it, in its one spelling, because versions are compared as text.
# The pattern is needed because older versions of jq succeed on an empty answer.
answered_number() {
  jq -r ".$1 | numbers" "$WORK/answer" 2>"$WORK/errors" | grep -xE -m 1 '[0-9]{1,15}' || {
    log "the answer has no $1"
    return 1
  }
}

# register <public key>
register() {
  request /peer/register "$(jq -n --arg agent_id "$AGENT_ID" --arg pubkey "$1" \
    --arg endpoint "${ENDPOINT:-}" --arg listen_port "${LISTEN_PORT:-}" \
    '{$agent_id, $pubkey, endpoint: (if $endpoint == "" then null else $endpoint end)}
      + if $listen_port == "" then {} else {listen_port: ($listen_port | tonumber)} end')" || {
    replace_key_in_use
    return 1
  }
  registered_pubkey=$1
  applied_version=
  log "registered with $(jq -r '.addresses | map(tostring) | join(", ")' "$WORK/answer")"
}

# Another agent has this public key: the host is a copy, or somebody was quicker. The next round
# registers a new one.
replace_key_in_use() {
  [[ $status == 409 && $(jq -r '.error.code' "$WORK/answer" 2>/dev/null) == pubkey_in_use ]] ||
    return 0
  wg genkey >"$WORK/key" && mv "$WORK/key" "$PRIVATE_KEY" && log "a new key pair is made"
}

# How often a heartbeat is due.
interval_seconds() {
  echo "${POLL_SECONDS:-$heartbeat_seconds}"
}

# How long a heartbeat may wait for news: less than the interval by up to a tenth, so that the next
# one is in time, and agents do not fall into step. 0 where asking over and over is as quick.
seconds_to_wait() {
  local seconds=$(($(interval_seconds) * (900 + RANDOM % 100) / 1000))
  ((seconds < longest_wait_seconds)) || seconds=$longest_wait_seconds
  echo "$((seconds < 2 ? 0 : seconds))"
}

# shorten_wait <seconds>: after a wait that failed within so many. A short one has other reasons.
shorten_wait() {
  if [[ $status == 422 ]]; then
    ((longest_wait_seconds <= 50)) || longest_wait_seconds=50 # what older services take
  elif [[ $status =~ ^(000|50[24])$ ]] && (($1 >= 30 && $1 <= longest_wait_seconds)); then
    longest_wait_seconds=$(($1 * 9 / 10))
  fi
}

# Says which version runs; sets served_version and heartbeat_seconds. A service that waits answers
# as soon as another version should run. After a failure the question is whether it is back.
heartbeat() {
  local wait_seconds=0 sent_at=$SECONDS
  [[ -z $applied_version ]] || ((failures > 0)) || wait_seconds=$(seconds_to_wait)
  # Until it is known to have waited.
  ((wait_seconds == 0 || fruitless_waits == 20)) || fruitless_waits=$((fruitless_waits + 1))
  if ! request /peer/heartbeat "$(jq -n --arg agent_id "$AGENT_ID" \
    --arg version "$applied_version" --argjson wait_seconds "$wait_seconds" \
    '{$agent_id} + if $version == "" then {} else {config_version: ($version | tonumber)} end
      + if $wait_seconds == 0 then {} else {$wait_seconds} end')" "$wait_seconds"; then
    # The operator removed this peer. It may register again: it comes back without a rule.
    [[ $status != 404 ]] || registered_pubkey=
    ((wait_seconds == 0)) || shorten_wait "$((SECONDS - sent_at))"
    return 1
  fi
  served_version=$(answered_number config_version) || return
  local asked
  asked=$(answered_number heartbeat_interval_seconds) || return
  [[ ! $asked =~ ^[1-9][0-9]{0,3}$ ]] || heartbeat_seconds=$asked
  # News may come at once, but not time after time.
  local expected_seconds=$((wait_seconds - 1))
  [[ $served_version == "$applied_version" ]] || expected_seconds=1
  ((wait_seconds == 0 || answer_seconds < expected_seconds)) || fruitless_waits=0
}

# How long to pause after a round that went well: the interval, where heartbeats do not wait. Where
# they do, the next one waits almost at once, unless the last three or more were in vain: so a
# service that does not wait, or that always names another version, is soon asked as rarely.
seconds_to_pause() {
  local interval seconds
  interval=$(interval_seconds)
  seconds=$((2 ** fruitless_waits / 4))
  (($(seconds_to_wait) > 0 && seconds < interval)) || seconds=$interval
  echo "$((seconds > 0 ? seconds : 1))"
}

# Fetches the configuration and applies it.
update() {
  request /wg_config "$(jq -n --arg agent_id "$AGENT_ID" --arg firewall "$FIREWALL" \
    '{$agent_id, $firewall}')" || return
  local version
  version=$(answered_number config_version) || return
  apply "$WORK/answer" || return
  applied_version=$version
  is_complete=yes
  log "config_version $version is applied"
}

# --- the loop -----------------------------------------------------------------------------------

# One round with the service.
meet() {
  local pubkey
  status=
  is_up || applied_version=
  pubkey=$(public_key) || return
  [[ $registered_pubkey == "$pubkey" ]] || register "$pubkey" || return
  heartbeat || return
  [[ $applied_version == "$served_version" ]] || update
}

# While the service gives no usable answer, the last configuration still connects the peers. The
# tunnel stays down when the answer was that this agent has no place in the mesh any more.
fall_back() {
  [[ $status != 40[134] && -e $CONFIG ]] || return 0
  if ! is_up; then
    bring_up_again && is_complete=yes && log "the last configuration is up"
  elif [[ -z $is_complete ]]; then
    is_complete=yes
    apply_again
  fi
}

# pause <milliseconds>
pause() {
  sleep "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))" &
  wait $! || true
}

# How many milliseconds to pause after a round that failed: ever longer, up to the interval, so that
# a service that is back is noticed as soon as news would be, but no less than it asked for.
milliseconds_to_back_off() {
  local seconds=$((failures < 9 ? 2 ** failures : LONGEST_PAUSE_SECONDS)) interval asked
  interval=$(interval_seconds)
  ((seconds <= interval)) || seconds=$interval
  asked=$(retry_after)
  echo "$((asked > seconds ? asked * (1000 + RANDOM % 101) : seconds * (900 + RANDOM % 101)))"
}

# How many seconds the service asked to be left alone, within LONGEST_PAUSE_SECONDS.
retry_after() {
  local seconds
  seconds=$(sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9]\{1,4\}\).*/\1/p' "$WORK/headers" |
    tail -n 1) || true
  # In base 10: bash takes a number with a leading zero for an octal one.
  seconds=$((10#${seconds:-0}))
  echo "$((seconds < LONGEST_PAUSE_SECONDS ? seconds : LONGEST_PAUSE_SECONDS))"
}

stay() {
  local pause_milliseconds
  while true; do
    : >"$WORK/headers"
    keep_firewall
    if meet; then
      failures=0
      # A tenth more or less, so that agents do not fall into step.
      pause_milliseconds=$(($(seconds_to_pause) * (900 + RANDOM % 201)))
    else
      fall_back || log "the last configuration cannot be brought up"
      failures=$((failures + 1))
      pause_milliseconds=$(milliseconds_to_back_off)
    fi
    if is_up; then refresh_endpoints || log "the endpoints of the peers cannot be refreshed"; fi
    pause "$pause_milliseconds"
  done
}

# A second signal must not end this half-way.
leave() {
  trap '' TERM INT
  trap - EXIT
  # Before its directory goes: a request may be about to write there.
  # shellcheck disable=SC2046 # one argument for each job
  kill $(jobs -pr) 2>/dev/null || true
  ! is_up || take_down
  rm -rf "$WORK"
}

# --- the start ----------------------------------------------------------------------------------

if [[ -n $POLL_SECONDS && ! $POLL_SECONDS =~ ^[1-9][0-9]{0,3}$ ]]; then
  log "POLL_SECONDS must be a number from 1 to 9999 without leading zeros, not $POLL_SECONDS"
  exit 1
fi
require_safe_url "$MESH_URL" && require_firewall_kind "$FIREWALL" &&
  require_hook_path "$PRIVATE_KEY_FILE" && require_privileges || exit

# Held by this shell until it ends, however it ends. Where it was killed, its subshells hold it for
# a moment longer, and may still write to its directory. The file stays: removing it would let two
# agents in, one with the old file and one with a new one.
exec 9>>"$CONFIG_DIR/$INTERFACE.lock"
flock -w 5 9 || {
  log "another agent runs for this interface: it holds $CONFIG_DIR/$INTERFACE.lock"
  exit 1
}

# An agent that was killed left its directory behind.
rm -rf "$WORK"
mkdir "$WORK"
adopt_configuration

trap leave EXIT
trap 'trap "" TERM INT; exit 0' TERM INT

[[ -s $PRIVATE_KEY ]] || wg genkey >"$PRIVATE_KEY"

# Without the lock for what it starts: a tunnel or a lookup would hold it after this shell's end.
stay 9>&-
