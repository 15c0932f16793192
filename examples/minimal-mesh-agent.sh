#!/usr/bin/env bash
# The least that keeps a host in the mesh: heartbeat → /wg_config → wg-quick, over and over. Read
# it to learn the protocol, or as the start of an agent of your own. It needs wg-quick.jq beside it,
# Linux, root, bash, curl, jq, wireguard-tools and nftables. With a key from the operator, run:
#
#   MESH_URL=https://<project>.supabase.co/functions/v1/agent-mesh AGENT_ID=planner \
#     AGENT_KEY_FILE=/etc/mesh-agent.key ENDPOINT=planner.example.com:51820 ./minimal-mesh-agent.sh
#
# On a host with Node, take `agentfiles mesh up`. Left out here is:
# - changing a live tunnel: each change takes the tunnel down and up again. Every session starts
#   over, and a peer may be out of reach for half a minute, or until it speaks if it is behind NAT;
# - backing off, waiting for news after a heartbeat has failed, watching the firewall and the
#   interface, looking names up again, registering again, starting without the service, a lock,
#   paths to peers behind NAT, full disks.
set -euo pipefail; umask 077

: "${MESH_URL:?the URL of the function}" "${AGENT_ID:?the identifier of this agent}"
: "${AGENT_KEY_FILE:?a file that holds the agent key}"
INTERFACE=${INTERFACE:-mesh0} POLL_SECONDS=${POLL_SECONDS:-30} MAKE=$(dirname "$0")/wg-quick.jq
CONFIG=/etc/wireguard/$INTERFACE.conf PRIVATE_KEY=/etc/wireguard/$INTERFACE.key # as wg-quick.jq expects
loopback='^http://(127\.0\.0\.1|localhost|\[::1\])(:[0-9]+)?/' # only this host needs no certificate
[[ $MESH_URL =~ ^https:// || $MESH_URL =~ $loopback ]] || { echo "MESH_URL must be https" >&2; exit 1; }

# body [--arg <name> <value>]…: prints these fields and agent_id, as JSON.
body() { jq --null-input --arg agent_id "$AGENT_ID" "$@" '$ARGS.named'; }

# post <path> <body> [<seconds>]: becomes curl, which prints the answer. Fails unless it is 2xx.
post() {
  trap '' XFSZ; ulimit -f 16384 # no server may fill the disk: 16 MiB, also without an announced length
  exec curl --silent --show-error --fail-with-body --max-filesize 16777216 --max-time "$((15 + ${3:-0}))" \
    "$MESH_URL$1" --data "$2" --header @<(printf 'authorization: Bearer %s\n' "$(<"$AGENT_KEY_FILE")")
}

take_down() { wg-quick down "$CONFIG" 2>/dev/null || true; } # nothing is up the first time

[[ -s $PRIVATE_KEY ]] || wg genkey >"$PRIVATE_KEY" # it never leaves this host
(post /peer/register "$(body --arg pubkey "$(wg pubkey <"$PRIVATE_KEY")" \
  ${ENDPOINT:+--arg endpoint "$ENDPOINT"})") | head -c 4096 # no server may fill the log
trap 'kill $(jobs -pr) || true; take_down' EXIT
ending=$'exit 0\n)' # bash 5.2 may parse a trap as part of a $(…), which this ends
# shellcheck disable=SC2064 # it does not change
trap "$ending" TERM INT
running=                                                    # the config_version that runs; none yet
wait_seconds=$((POLL_SECONDS > 50 ? 50 : POLL_SECONDS - 1)) # common proxies cut off at 60
while true; do
  sleep "$POLL_SECONDS" & round=$! # the length of a round, whether the service waits or not
  # Keeps this agent online, reports its version, and is answered as soon as another one should run.
  post /peer/heartbeat "$(body ${running:+--argjson config_version "$running"} \
    ${wait_seconds:+--argjson wait_seconds "$wait_seconds"})" "$wait_seconds" >"$CONFIG.heartbeat" &
  wait $! || wait_seconds= # in the background, so that a signal need not wait
  if due=$(jq .config_version "$CONFIG.heartbeat") && [[ $due =~ ^[0-9]+$ && $due != "$running" ]] &&
    (post /wg_config "$(body --arg format json)") >"$CONFIG.answer" && jq -erf "$MAKE" "$CONFIG.answer" >"$CONFIG.new"; then
    take_down                  # with the old file, whose hooks remove the old firewall
    mv "$CONFIG.new" "$CONFIG" # only the served data, with this host's own hooks
    wg-quick up "$CONFIG"
    running=$(jq .config_version "$CONFIG.answer")
    sleep 1 & round=$! # the next news may be there already
  fi
  wait "$round" || true
done
