# shellcheck shell=bash
# What an agent sends to the service, and how often: registration, heartbeats, and the request that
# waits for news. Source this file after configuration.sh. It only defines functions.
#
# The caller sets MESH_URL, AGENT_ID, AGENT_KEY_FILE, POLL_SECONDS, LOOK_SECONDS and the directory
# WORK, and defines `log`, `look_after_host`, `is_as_told`, and the functions of paths.sh and
# endpoints.sh.

# The longest that the service keeps a request waiting.
readonly LONGEST_WAIT_SECONDS=140
# After this long, try again what the service lacked or refused: the service may have been updated,
# or this host may have moved.
readonly FORGET_SECONDS=3600

# The last answer's HTTP status, or 000 if there was none, and how many whole seconds it took.
status=
answer_seconds=
# Set if this agent cut the last request short, because the host had something to tell.
was_cut=
# Set if the last answer could not be written, because it was too long, or because a disk was full.
was_unwritten=
# The process of the request that is under way.
requesting=
heartbeat_seconds=30
# How many rounds in a row have failed.
failures=0
# The public key and the endpoints that the service knows.
registered_as=
# The endpoints of `agentfiles mesh path` that the service refused.
refused_endpoints=
# The config_version in the last heartbeat's answer.
served_version=
# How many heartbeats in a row should have waited and did not: they failed, or were answered at
# once. At most 20, because the resulting pause is then longer than any interval.
fruitless_waits=0
# The longest wait that the service accepts. Something on the way may cut off long requests; then
# this is shorter than those.
longest_wait_seconds=$LONGEST_WAIT_SECONDS
shortened_at=0
# Empty if the service accepts no path reports.
takes_paths=yes
# Empty while the service has /wait; else when to try it again.
wait_missing_until=

# request <path> <json> [<seconds>]: sets status and answer_seconds, leaves the answer in
# $WORK/answer, and fails unless the status is 200. The service may wait for <seconds>. Meanwhile
# the host is checked, and the request is cut short if the host has something to tell. curl replaces
# its subshell, which would hold the lock until curl ends, even after this shell. Its keepalive
# probes show whether the other side is still there.
request() {
  local ended reason="no answer" answered waits=${3:-0} step=$LOOK_SECONDS looked_at=$SECONDS
  was_cut=
  was_unwritten=
  : >"$WORK/answer"
  exec {answered}< <(
    bounded_curl --silent --show-error --connect-timeout 5 --max-time "$((15 + waits))" \
      --keepalive-time "$LOOK_SECONDS" \
      --header @<(printf 'authorization: Bearer %s\n' "$(<"$AGENT_KEY_FILE")") \
      --header 'content-type: application/json' --data @- \
      --output "$WORK/answer" --dump-header "$WORK/headers" \
      --write-out '%{http_code} %{time_total}\n' "$MESH_URL$1" <<<"$2"
  )
  requesting=$!
  while true; do
    ended=0
    [[ ! -e $PATH_LOCK ]] || step=1
    IFS='. ' read -r -t "$step" -u "$answered" status answer_seconds _ || ended=$?
    # A status above 128 is a timeout of `read`. Any other ends the loop.
    ((ended > 128)) || break
    ((waits > 0)) || continue
    ((SECONDS - looked_at >= LOOK_SECONDS)) || has_path_news || continue
    looked_at=$SECONDS
    look_after_host && is_as_told && continue
    kill "$requesting" 2>/dev/null && was_cut=yes
    break
  done
  exec {answered}<&-
  ended=0
  wait "$requesting" || ended=$?
  requesting=
  ((ended == 0)) || status=000
  [[ $status == 200 ]] && return
  [[ -z $was_cut ]] || return 1
  if [[ $ended == 23 || $ended == 63 ]]; then
    was_unwritten=yes
    reason="the answer is longer than $LONGEST_ANSWER_MIB MiB, or $WORK cannot be written to"
  elif [[ $status != 000 ]]; then
    reason="$status $(jq -r '.error.message // empty' "$WORK/answer" 2>/dev/null || true)"
  fi
  log "$1: $reason"
  return 1
}

# answered_number <field>: prints a number in canonical form, because versions are compared as text.
# The pattern is needed because older versions of jq succeed on an empty answer.
answered_number() {
  jq -r ".$1 | numbers" "$WORK/answer" 2>"$WORK/errors" | grep -xE -m 1 '[0-9]{1,15}' || {
    log "the answer has no $1"
    return 1
  }
}

# Whether the last answer was an error with this code.
was_refused() {
  [[ $(jq -r '.error.code' "$WORK/answer" 2>/dev/null) == "$1" ]]
}

# Whether the last answer is that of /wait to an agent without a peer: complete except for the
# version. An answer from something on the way does not count.
says_no_peer() {
  [[ $(jq 'has("heartbeat_interval_seconds") and (has("config_version") | not)' \
    "$WORK/answer" 2>/dev/null) == true ]]
}

# Whether the service has answered the last request, even if the answer could not be written.
was_answered() {
  [[ $status == 200 || -n $was_unwritten ]]
}

# The seconds in the last answer's Retry-After; 0 if there were none.
retry_after() {
  local seconds
  seconds=$(sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9]\{1,4\}\).*/\1/p' "$WORK/headers" |
    tail -n 1) || true
  # In base 10: bash reads a number with a leading zero as octal.
  echo "$((10#${seconds:-0}))"
}

# register <public key> <endpoint>: also registers the endpoints of `agentfiles mesh path`, after
# <endpoint>.
register() {
  local port=${LISTEN_PORT:-}
  [[ -n $port$2 || -z $path_endpoints ]] || port=$(listen_port)
  request /peer/register "$(jq -n --arg agent_id "$AGENT_ID" --arg pubkey "$1" \
    --arg endpoints "$2 $path_endpoints" --arg listen_port "$port" \
    '($endpoints | split(" ") | map(select(. != "")) | .[:4]) as $endpoints
      | {$agent_id, $pubkey, endpoint: $endpoints[0]}
      + if $endpoints[1:] == [] then {} else {$endpoints} end
      + if $listen_port == "" then {} else {listen_port: ($listen_port | tonumber)} end')" || {
    # The tunnel matters more than these endpoints.
    if [[ $status == 422 && -n $path_endpoints ]]; then
      log "the endpoints of \`agentfiles mesh path\` are refused; leaving them out"
      refused_endpoints=$path_endpoints
      path_endpoints=
      register "$@"
      return
    fi
    replace_key_in_use
    return 1
  }
  registered_as="$1 $2 $path_endpoints"
  applied_version=
  log "registered with $(jq -r '.addresses | map(tostring) | join(", ")' "$WORK/answer")${2:+ at $2}"
}

# is_registered <public key> <endpoint>: whether the service knows all of them.
is_registered() {
  [[ $path_endpoints != "$refused_endpoints" ]] || path_endpoints=
  [[ $registered_as == "$1 $2 $path_endpoints" ]]
}

# Another agent has this public key: this host is a copy, or somebody was quicker. Makes a new key,
# which the next round registers.
replace_key_in_use() {
  [[ $status == 409 ]] && was_refused pubkey_in_use || return 0
  make_key "$(key_to_register)" && log "a new key pair is made"
}

# Whether the service has /wait, as far as this agent knows.
has_wait() {
  [[ -z $wait_missing_until ]] || ((SECONDS >= wait_missing_until))
}

# How often the service must hear from this agent, in seconds. A /wait counts until it ends.
interval_seconds() {
  local seconds=$heartbeat_seconds
  if [[ -n $POLL_SECONDS ]]; then
    seconds=$POLL_SECONDS
  elif has_wait && ((fruitless_waits < 3)); then
    seconds=$LONGEST_WAIT_SECONDS
  fi
  # If one report cannot name all peers, report as often as heartbeats are due. Not more often,
  # because each request costs.
  if [[ -n $takes_paths ]] && ! is_one_report_enough; then
    ((failures > 0 || seconds < heartbeat_seconds)) || seconds=$heartbeat_seconds
  fi
  echo "$seconds"
}

# How long a heartbeat may wait for news, in seconds. A little less than the interval, so that the
# next heartbeat is in time; the difference is random, so that agents do not fall into step. 0 if
# polling is as quick.
seconds_to_wait() {
  local seconds=$(($(interval_seconds) * (970 + RANDOM % 30) / 1000))
  ((seconds < longest_wait_seconds)) || seconds=$longest_wait_seconds
  echo "$((seconds < 2 ? 0 : seconds))"
}

# shorten_wait <seconds>: reduces the longest wait after a wait that failed within <seconds>. A
# failure within 10 s has other reasons.
shorten_wait() {
  shortened_at=$SECONDS
  if [[ $status == 422 ]]; then
    ((longest_wait_seconds <= 50)) || longest_wait_seconds=50 # the limit of older services
  elif [[ $status =~ ^(000|50[24])$ ]] && (($1 >= 10 && $1 <= longest_wait_seconds)); then
    longest_wait_seconds=$(($1 * 9 / 10))
  fi
}

# Reports the running version; sets served_version and heartbeat_seconds. A service that waits
# answers as soon as another version should run. After a failure, the heartbeat does not wait: it
# checks whether the service is back.
heartbeat() {
  local wait_seconds=0 sent_at=$SECONDS path=/wait report=$WORK/report
  ((SECONDS - shortened_at < FORGET_SECONDS)) || longest_wait_seconds=$LONGEST_WAIT_SECONDS
  [[ -z $applied_version ]] || ((failures > 0)) || wait_seconds=$(seconds_to_wait)
  has_wait || path=/peer/heartbeat
  # Counts as fruitless until it is known that the service has waited.
  ((wait_seconds == 0 || fruitless_waits == 20)) || fruitless_waits=$((fruitless_waits + 1))
  if [[ -z $takes_paths || ! -s $WORK/report ]]; then report=/dev/null; fi
  note_paths_told
  if ! request "$path" "$(jq -n --arg agent_id "$AGENT_ID" \
    --arg version "$applied_version" --argjson wait_seconds "$wait_seconds" \
    --slurpfile reports "$report" \
    '{$agent_id} + if $version == "" then {} else {config_version: ($version | tonumber)} end
      + if $wait_seconds == 0 then {} else {$wait_seconds} end
      + if $reports == [] then {} else {paths: $reports[0]} end')" "$wait_seconds"; then
    if [[ -n $was_cut ]]; then
      # The service had waited until then.
      fruitless_waits=0
    elif [[ $status == 404 && $path == /wait ]] && was_refused not_found; then
      log "this service has no /wait; sending heartbeats instead"
      wait_missing_until=$((SECONDS + FORGET_SECONDS))
      heartbeat
      return
    elif [[ $status == 422 && $report != /dev/null ]]; then
      log "this service accepts no path reports; not sending them"
      takes_paths=
      heartbeat
      return
    else
      # The operator removed this peer. Register it again: it comes back without a rule.
      [[ $status != 404 ]] || registered_as=
      ((wait_seconds == 0)) || shorten_wait "$((SECONDS - sent_at))"
    fi
    return 1
  fi
  [[ $path != /wait ]] || wait_missing_until=
  if [[ $path == /wait ]] && says_no_peer; then
    # Here, too, the operator removed this peer.
    log "$path: this agent has no peer"
    status=404
    registered_as=
    return 1
  fi
  served_version=$(answered_number config_version) || return
  local asked
  asked=$(answered_number heartbeat_interval_seconds) || return
  [[ ! $asked =~ ^[1-9][0-9]{0,3}$ ]] || heartbeat_seconds=$asked
  # News may come at once, but not every time.
  local expected_seconds=$((wait_seconds - 1))
  [[ $served_version == "$applied_version" ]] || expected_seconds=1
  ((wait_seconds == 0 || answer_seconds < expected_seconds)) || fruitless_waits=0
}

# How long to pause after a successful round, in seconds. If heartbeats do not wait, this is the
# interval. If they wait, the next one follows almost at once. After three fruitless waits in a row,
# the pause grows with each further one, up to the interval. So a service that does not wait, or
# that always names another version, is soon asked no more often.
seconds_to_pause() {
  local interval seconds
  interval=$(interval_seconds)
  seconds=$((2 ** fruitless_waits / 4))
  (($(seconds_to_wait) > 0 && seconds < interval)) || seconds=$interval
  echo "$((seconds > 0 ? seconds : 1))"
}
