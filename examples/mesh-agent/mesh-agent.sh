#!/usr/bin/env bash
# Joins this host to the mesh and keeps it there. README.md lists the settings. This file decides
# when something is done: service.sh talks to the service, host/ changes the host, keys.sh replaces
# the private key, and configuration.sh decides which served data is accepted. `mesh-agent.sh check
# <file>` only does the last; `mesh-agent.sh rotate` only replaces the private key.
set -euo pipefail
export LC_ALL=C
umask 077

# shellcheck source-path=SCRIPTDIR source=configuration.sh
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/configuration.sh"

if [[ ${1:-} == check && $# == 2 ]]; then
  check "$2"
  exit
elif (($# > 1)) || [[ $# == 1 && $1 != rotate ]]; then
  echo "usage: mesh-agent.sh [check <file> | rotate]" >&2
  exit 1
fi

: "${MESH_URL:?the URL of the function, such as https://<project>.supabase.co/functions/v1/agent-mesh}"
: "${AGENT_ID:?the identifier of this agent}"
: "${AGENT_KEY_FILE:?a file that holds the agent key, ak_…}"
INTERFACE=${INTERFACE:-mesh0}
CONFIG_DIR=${CONFIG_DIR:-/etc/wireguard}
RUN_DIR=${RUN_DIR:-/run/mesh-agent}
FIREWALL=${FIREWALL:-nftables}
ENDPOINT=${ENDPOINT:-}
HOSTS_FILE=${HOSTS_FILE-/etc/hosts}
POLL_SECONDS=${POLL_SECONDS:-}

# How often the host is checked.
readonly LOOK_SECONDS=10

# shellcheck source-path=SCRIPTDIR source=host/tunnel.sh
source "$AGENT_FOLDER/host/tunnel.sh"
# shellcheck source-path=SCRIPTDIR source=host/room.sh
source "$AGENT_FOLDER/host/room.sh"
# shellcheck source-path=SCRIPTDIR source=host/firewall.sh
source "$AGENT_FOLDER/host/firewall.sh"
# shellcheck source-path=SCRIPTDIR source=host/endpoints.sh
source "$AGENT_FOLDER/host/endpoints.sh"
# shellcheck source-path=SCRIPTDIR source=host/paths.sh
source "$AGENT_FOLDER/host/paths.sh"
# shellcheck source-path=SCRIPTDIR source=host/names.sh
source "$AGENT_FOLDER/host/names.sh"
# shellcheck source-path=SCRIPTDIR source=service.sh
source "$AGENT_FOLDER/service.sh"
# shellcheck source-path=SCRIPTDIR source=keys.sh
source "$AGENT_FOLDER/keys.sh"

# The config_version that runs; empty while the tunnel is down.
applied_version=
# Empty until the tunnel is known to have all of the last configuration: an earlier agent may have
# been killed while it changed the tunnel.
is_complete=
# Set if the configuration may have peers whose names are unknown.
names_are_due=

# A message may quote the service. So it is cut, and control characters are replaced: it must
# neither fill the disk nor steer the terminal that shows it.
log() {
  local text=$*
  text=${text:0:1000}
  printf '%s: %s\n' "$INTERFACE" "${text//[^[:print:]]/?}" >&2
}

# --- looking after the host ---------------------------------------------------------------------

# Checks and repairs everything that can change on this host by itself. Sends no request. Fails if
# the host has moved: the answer to a pending request may then no longer arrive.
look_after_host() {
  local has_moved=
  ! follow_network || has_moved=yes
  keep_firewall
  [[ -z $has_moved ]] || ask_all_peers
  keep_names_again
  store_again
  watch_paths || log "the state of the peers cannot be read"
  if is_up; then refresh_endpoints || log "the endpoints of the peers cannot be refreshed"; fi
  [[ $path_text == "$path_text_before" ]] || greet_forwarded_peers || log "peers cannot be greeted"
  [[ -z $has_moved ]]
}

# Whether the service knows the current state of this host.
is_as_told() {
  local pubkey
  [[ -z $takes_paths ]] || ! is_path_news_due || return 1
  is_up || [[ -z $applied_version ]] || return 1
  pubkey=$(public_key_to_register) && is_registered "$pubkey" "$own_endpoint"
}

# --- the loop -----------------------------------------------------------------------------------

# Fetches the configuration and applies it.
update() {
  request /wg_config "$(jq -n --arg agent_id "$AGENT_ID" --arg firewall "$FIREWALL" \
    '{$agent_id, $firewall}')" || return
  local version
  version=$(answered_number config_version) || return
  apply "$WORK/answer" || return
  applied_version=$version
  is_complete=yes
  names_are_due=yes
  log "config_version $version is applied"
}

# One round with the service.
meet() {
  local pubkey
  status=
  was_cut=
  was_unwritten=
  is_up || applied_version=
  pubkey=$(public_key_to_register) || return
  is_registered "$pubkey" "$own_endpoint" || register "$pubkey" "$own_endpoint" || return
  adopt_next_key || return
  heartbeat || return
  [[ $applied_version == "$served_version" ]] || update || return
  learn_names
}

# Ignores failures, because the tunnel works without names.
learn_names() {
  if [[ -n $names_are_due ]] && lacks_names; then
    request /netmap "$(jq -n --arg agent_id "$AGENT_ID" '{$agent_id}')" || return 0
    take_in_names "$WORK/answer"
  fi
  names_are_due=
  keep_names
}

# Brings up the last configuration, which still connects the peers while the service gives no usable
# answer. The tunnel stays down if the answer was that this agent is no longer in the mesh.
fall_back() {
  [[ $status != 40[134] && -e $CONFIG ]] || return 0
  if ! is_up; then
    bring_up_again && is_complete=yes && log "the last configuration is up" && keep_names
  elif [[ -z $is_complete ]]; then
    is_complete=yes
    apply_again
  fi
}

# pause <milliseconds>: checks the host meanwhile, and ends early if a check finds something to
# tell, or if `agentfiles mesh path` wrote something during the round before.
pause() {
  local left=$1 step
  ((failures > 0)) || ! has_path_news || return 0
  while ((left > 0)); do
    step=$((left < LOOK_SECONDS * 1000 ? left : LOOK_SECONDS * 1000))
    sleep "$((step / 1000)).$(printf %03d $((step % 1000)))" &
    wait $! || true
    left=$((left - step))
    ((left == 0)) || look_after_host || return 0
    ((left == 0 || failures > 0)) || is_as_told || return 0
  done
}

# The backoff after a failed round, in milliseconds. It grows up to the heartbeat interval, so that
# a recovered service is noticed soon. The service may ask for a longer pause. Even with that and
# with jitter, which keeps agents from falling into step, the pause is never longer than the
# heartbeat interval: nobody would learn of a rule meanwhile.
milliseconds_to_back_off() {
  local milliseconds seconds=$((failures < 9 ? 2 ** failures : heartbeat_seconds)) longest asked
  longest=$(($(interval_seconds) < heartbeat_seconds ? $(interval_seconds) : heartbeat_seconds))
  ((seconds <= longest)) || seconds=$longest
  asked=$(retry_after)
  milliseconds=$((asked > seconds ? asked * (1000 + RANDOM % 101) : seconds * (900 + RANDOM % 101)))
  longest=$((heartbeat_seconds * 1000))
  echo "$((milliseconds < longest ? milliseconds : longest))"
}

stay() {
  local pause_milliseconds cut_at=-$LOOK_SECONDS
  while true; do
    : >"$WORK/headers"
    # If this check has just ended a request, do not repeat it.
    [[ -n $was_cut ]] || look_after_host || true
    if meet; then
      failures=0
      no_room_since=
      # Jitter of a tenth, so that agents do not fall into step.
      pause_milliseconds=$(($(seconds_to_pause) * (900 + RANDOM % 201)))
    elif [[ -n $was_cut ]]; then
      # Pause if the previous cut was recent, too: every request may be cut short.
      pause_milliseconds=$((SECONDS - cut_at < LOOK_SECONDS ? 1000 : 0))
      cut_at=$SECONDS
    else
      if keep_room; then
        no_room_since=
        fall_back || log "the last configuration cannot be brought up"
      else
        close_without_room
      fi
      failures=$((failures + 1))
      pause_milliseconds=$(milliseconds_to_back_off)
    fi
    pause "$pause_milliseconds"
  done
}

# Ignores further signals, so that none ends this half-way. Taking the tunnel down runs the hooks in
# the configuration, which may be somebody else's until it is adopted. So it is adopted first.
leave() {
  trap '' TERM INT
  trap - EXIT
  [[ -n $is_adopted ]] || adopt_configuration
  # Before $WORK is removed: a request may be about to write there.
  # shellcheck disable=SC2046,SC2086 # one argument for each process
  kill $requesting $(jobs -pr) 2>/dev/null || true
  ! is_up || take_down
  remove_names
  [[ -z $is_stored ]] || rm -f "$CONFIG"
  remove_work
}

# --- the start ----------------------------------------------------------------------------------

if [[ -n $POLL_SECONDS && ! $POLL_SECONDS =~ ^[1-9][0-9]{0,3}$ ]]; then
  log "POLL_SECONDS must be a number from 1 to 9999 without leading zeros, not $POLL_SECONDS"
  exit 1
fi
require_safe_url "$MESH_URL" && require_endpoint && require_firewall_kind "$FIREWALL" &&
  require_hook_path "$PRIVATE_KEY_FILE" && require_privileges && require_tunnels || exit

# This shell holds the lock until it ends, however it ends. If it was killed, its subshells hold the
# lock for a moment longer, and may still write to $WORK. The lock file stays: removing it would
# allow two agents, one with the old file and one with a new file.
mkdir -p "$RUN_DIR"
if [[ $RUN_DIR -ef $CONFIG_DIR ]]; then
  log "RUN_DIR must be another folder than CONFIG_DIR, in memory"
  exit 1
fi
exec 9>>"$CONFIG_DIR/$INTERFACE.lock"
if [[ ${1:-} == rotate ]] && ! flock -n 9; then
  rotate
  exit
fi
flock -w 5 9 || {
  log "another agent runs for this interface: it holds $CONFIG_DIR/$INTERFACE.lock"
  exit 1
}

make_work
if [[ ${1:-} == rotate ]]; then
  trap 'rm -rf "$WORK"' EXIT
  follow_network || true
  rotate "$own_endpoint"
  exit
fi

# Set the traps before the configuration is changed. From here on, a signal stops the agent cleanly.
is_adopted=
trap leave EXIT
# bash 5.2 may run a trap while it reads a command substitution, and parses the trap as part of
# that. Without a ")" at the end of the trap, the signal is lost, or the shell exits with 2. In
# other cases, the first line exits before the second line is read.
on_signal=$'trap "" TERM INT; exit 0\n)'
# shellcheck disable=SC2064 # it does not change
trap "$on_signal" TERM INT

keep_room || log "there is no room for working files, neither in $RUN_DIR nor elsewhere"
adopt_configuration
is_adopted=true
is_up || remove_names

# Closes the lock for child processes: a tunnel or a lookup would hold it after this shell has
# ended.
stay 9>&-
