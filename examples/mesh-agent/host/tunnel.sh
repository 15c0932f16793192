# shellcheck shell=bash
# The tunnel of one interface: takes in the configuration that the service gave, brings it up, and
# changes it in place. It knows nothing of the service. To be sourced: that defines functions and
# changes nothing on the host.
#
# The caller sets INTERFACE, CONFIG_DIR and FIREWALL, sources configuration.sh and the other files
# here, defines `log`, and makes the directory WORK.

readonly CONFIG=$CONFIG_DIR/$INTERFACE.conf
readonly PRIVATE_KEY=$CONFIG_DIR/$INTERFACE.key
# The same, as a hook names it.
# shellcheck disable=SC2034 # configuration.sh reads it
readonly PRIVATE_KEY_FILE=$CONFIG_DIR/%i.key
# Beside the configuration, so that a new one replaces it in one step, by a rename.
readonly WORK=$CONFIG_DIR/.$INTERFACE.mesh-agent

# The process that greets silent peers again, if one was started.
greeting=

# --- up, down, and changes ----------------------------------------------------------------------

is_up() {
  wg show "$INTERFACE" >/dev/null 2>&1
}

# The public key that belongs to the private key on this host now.
public_key() {
  wg pubkey <"$PRIVATE_KEY"
}

# apply <file>: applies the configuration in this answer of /wg_config, if the answer is whole.
apply() {
  take_in "$1" || return
  # What ended later could bring back a peer that the new configuration does not have.
  stop_lookups
  stop_greeting
  if ! is_up; then
    bring_up
  elif [[ -e $CONFIG ]] && has_same_interface; then
    change_in_place
  else
    take_down
    bring_up
  fi
}

# Brings up what was applied last. Fails where nothing was.
bring_up_again() {
  [[ -e $CONFIG ]] && cp "$CONFIG" "$WORK/new" && bring_up
}

# Gives a live tunnel what was applied last.
apply_again() {
  cp "$CONFIG" "$WORK/new" && has_same_interface && change_in_place
}

# What lies in CONFIG may have been put there by hand as it was served, or by an agent before this
# one. From here on it is a configuration of this agent's own, or it is not used.
adopt_configuration() {
  [[ -e $CONFIG ]] || return 0
  if own_configuration "$CONFIG" mark >"$WORK/new" 2>"$WORK/errors"; then
    mv "$WORK/new" "$CONFIG"
  else
    log "$(tail -n 1 "$WORK/errors"); the file is kept as $CONFIG.refused"
    mv "$CONFIG" "$CONFIG.refused"
  fi
}

# With the file that the tunnel came up with, because its PostDown belongs to it.
take_down() {
  wg-quick down "$CONFIG" >/dev/null 2>&1 || ip link delete "$INTERFACE" 2>/dev/null || true
}

# Leaves in $WORK/new what this agent makes of the answer. Names are marked, and looked up by
# refresh_endpoints, which can be stopped when the peers change.
take_in() {
  jq -ej '.config | strings' "$1" >"$WORK/served" || return
  own_configuration "$WORK/served" mark >"$WORK/new" 2>"$WORK/errors" || {
    log "$(tail -n 1 "$WORK/errors")"
    return 1
  }
}

bring_up() {
  mv "$WORK/new" "$CONFIG" || return
  forget_paths
  wg-quick up "$CONFIG" 2>"$WORK/errors" || { log "$(errors_without_keys | tail -n 3)"; return 1; }
  : >"$WORK/known"
  greet_again
}

# Whether the new file changes only what can change under a live tunnel. The addresses cannot, nor
# can the port, which the firewall knows.
has_same_interface() {
  local kept='^(Address|MTU|PostDown) = |^#address |^PostUp = (ip -6 address|wg set)' port
  port=$(sed -n 's/^ListenPort = //p' "$WORK/new")
  [[ $(grep -E "$kept" "$CONFIG") == "$(grep -E "$kept" "$WORK/new")" &&
    $(wg show "$INTERFACE" public-key) == "$(public_key)" &&
    ${port:-any} =~ ^(any|$(wg show "$INTERFACE" listen-port))$ ]]
}

# The firewall changes before the peers do, and every change is known before the first one is made.
# The private key, the port and the endpoints of known peers stay as they are.
change_in_place() {
  find_changes && load_firewall "$WORK/new" || return
  # In this folder, as the changes name their files. 100 peers at a time.
  (cd "$WORK" && xargs -r -n 300 wg set "$INTERFACE" <removals &&
    xargs -r -n 400 wg set "$INTERFACE" <changes) 2>"$WORK/errors" || {
    log "$(errors_without_keys)"
    return 1
  }
  rm -rf "$WORK/psks"
  note_moves "$CONFIG" "$WORK/new" || return
  mv "$WORK/new" "$CONFIG" && greet_new_peers && greet_moved_peers
}

# Leaves in $WORK how the peers of $WORK/new differ from those of the tunnel. changes.awk says how.
find_changes() {
  rm -rf "$WORK/psks" && mkdir "$WORK/psks" || return
  wg show "$INTERFACE" dump |
    awk -v folder="$WORK" -f "$AGENT_FOLDER/host/changes.awk" - "$WORK/new"
}

# Gives the peers that are new their endpoints, then the rest.
greet_new_peers() {
  [[ -s $WORK/greetings ]] || return 0
  refresh_endpoints || return
  # A name that resolves does so within a second, as a rule.
  for _ in {1..10}; do
    looks_up || break
    sleep 0.1
  done
  # Four words belong together.
  xargs -n 400 wg set "$INTERFACE" <"$WORK/greetings" && greet_again
}

# Sends to the peers that have moved where they are now. They may wait for that, behind a NAT.
greet_moved_peers() {
  [[ -s $WORK/moved ]] || return 0
  refresh_endpoints && ask_peers <"$WORK/moved"
  : >"$WORK/moved"
}

# In the background: the next change need not wait for it.
greet_again() {
  stop_greeting
  greet_silent_peers 2>/dev/null &
  greeting=$!
}

# Sends a second handshake to the peers that have not answered the first within about a second,
# except for those whose keys are in $WORK/known. The first is lost where the other side has yet to
# apply the same change, and may be where both begin at the same time. WireGuard sends the next
# after 5 s, unless the peer is removed and added again.
greet_silent_peers() {
  # How long differs from host to host, so that they do not begin at the same time again.
  for _ in $(seq $((8 + RANDOM % 6))); do
    sleep 0.1
    silent_peers >"$WORK/unanswered" || return
    [[ -s $WORK/unanswered ]] || return 0
  done
  # A signal waits until this has ended, so that no peer is left out.
  trap '' TERM
  sed -n 's/^PublicKey = \(.*\)/peer \1 remove/p' "$WORK/unanswered" |
    xargs -n 300 wg set "$INTERFACE" && wg addconf "$INTERFACE" "$WORK/unanswered"
}

# Prints the part of the configuration in which are the peers that have an endpoint and have never
# answered, except for those whose keys are in $WORK/known.
silent_peers() {
  wg show "$INTERFACE" latest-handshakes >"$WORK/handshakes" || return
  wg showconf "$INTERFACE" | awk '
    FILENAME == ARGV[1] || FILENAME == ARGV[2] { if ($2 != "0") spared[$1]; next }
    $1 == "[Peer]" && !($4 in spared) && /\nEndpoint = / { print $0 "\n" }
  ' "$WORK/known" "$WORK/handshakes" RS= -
}

# wg repeats a line that it refuses, and the line may hold a secret.
errors_without_keys() {
  sed 's|[A-Za-z0-9+/]\{40,\}=*|(a key)|g' "$WORK/errors"
}

# --- what runs in the background ----------------------------------------------------------------

stop_greeting() {
  stop "$greeting"
  greeting=
}

# runs <process>: the shell is asked for its own jobs, because any process may get the number of one
# that has ended.
runs() {
  [[ -n $1 ]] && grep -qx "$1" <<<"$(jobs -pr)"
}

# stop <process>: waits for its end, because one that is being killed may be about to set a peer.
stop() {
  ! runs "$1" || { kill "$1" && wait "$1"; } 2>/dev/null || true
}
