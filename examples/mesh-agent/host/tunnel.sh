# shellcheck shell=bash
# The tunnel of one interface: checks the configuration from the service, brings the tunnel up, and
# changes it in place. It does not talk to the service. Source this file. It only defines functions.
#
# The caller sets INTERFACE, CONFIG_DIR, RUN_DIR and FIREWALL, sources configuration.sh and the
# other files in this folder, defines `log`, and makes the directory WORK.

# The configuration that runs. RUN_DIR is in memory: a full disk must not keep a rule open that was
# revoked.
CONFIG=$RUN_DIR/$INTERFACE.conf
# Its copy, for the next start of the host.
readonly STORED=$CONFIG_DIR/$INTERFACE.conf
readonly PRIVATE_KEY=$CONFIG_DIR/$INTERFACE.key
# The same path, as a hook writes it.
# shellcheck disable=SC2034 # configuration.sh reads it
readonly PRIVATE_KEY_FILE=$CONFIG_DIR/%i.key
# In the same directory as CONFIG, so that a rename can replace that in one step.
WORK=$RUN_DIR/.$INTERFACE.mesh-agent

# The process that greets silent peers again, if one was started.
greeting=
# Set if STORED is a copy of CONFIG.
is_stored=
store_failed=

# --- up, down, and changes ----------------------------------------------------------------------

is_up() {
  wg show "$INTERFACE" >/dev/null 2>&1
}

# The public key that belongs to the private key on this host now.
public_key() {
  wg pubkey <"$PRIVATE_KEY"
}

# apply <file>: applies the configuration in this answer of /wg_config, if the answer is complete.
apply() {
  take_in "$1" || return
  # If these ended later, they could bring back a peer that the new configuration does not have.
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

# Brings up the configuration that was applied last. Fails if no configuration was applied.
bring_up_again() {
  [[ -e $CONFIG ]] && cp "$CONFIG" "$WORK/new" && bring_up
}

# Applies the last configuration to a live tunnel again.
apply_again() {
  cp "$CONFIG" "$WORK/new" && has_same_interface && change_in_place
}

# Somebody may have put a served file at STORED by hand, or an earlier agent may have written it.
# From here on, CONFIG is this agent's own configuration, or it does not exist. An agent that was
# killed left a CONFIG that is newer than STORED if it could not store it.
adopt_configuration() {
  local last=$STORED
  [[ ! -e $CONFIG || $STORED -nt $CONFIG ]] || last=$CONFIG
  [[ -e $last ]] || return 0
  if own_configuration "$last" mark >"$WORK/new" 2>"$WORK/errors"; then
    mv "$WORK/new" "$CONFIG" && store_configuration
  else
    log "$(tail -n 1 "$WORK/errors"); the file is kept as $last.refused"
    mv "$last" "$last.refused"
    rm -f "$CONFIG"
  fi
}

# Stores the configuration that runs. If that fails, removes what was stored before, which may make
# room: rules that have been revoked must not come back when the host starts.
store_configuration() {
  if replace_stored "$CONFIG" "$STORED" ||
    { rm -f "$STORED" 2>/dev/null && replace_stored "$CONFIG" "$STORED"; }; then
    [[ -z $store_failed ]] || log "the configuration is stored again"
    is_stored=yes store_failed=
    return
  fi
  is_stored=
  [[ -n $store_failed ]] ||
    log "the configuration cannot be written to $STORED: is the disk full? It is applied all the same"
  store_failed=yes
}

store_again() {
  [[ -n $is_stored || ! -e $CONFIG ]] || store_configuration
}

# replace_stored <file> <target>: copies the file in one step. If that fails, the target stays.
replace_stored() {
  { cp "$1" "$2.part" && sync "$2.part" && mv -f "$2.part" "$2"; } 2>/dev/null && return
  rm -f "$2.part"
  return 1
}

# Uses the file with which the tunnel came up, because that file's PostDown belongs to it.
take_down() {
  wg-quick down "$CONFIG" >/dev/null 2>&1 || ip link delete "$INTERFACE" 2>/dev/null || true
}

# Leaves in $WORK/new the agent's own configuration with the answer's data. Names are only marked:
# refresh_endpoints looks them up, which can be stopped when the peers change.
take_in() {
  jq -ej '.config | strings' "$1" >"$WORK/served" || return
  own_configuration "$WORK/served" mark >"$WORK/new" 2>"$WORK/errors" || {
    log "$(tail -n 1 "$WORK/errors")"
    return 1
  }
}

bring_up() {
  mv "$WORK/new" "$CONFIG" || return
  store_configuration
  forget_paths
  wg-quick up "$CONFIG" 2>"$WORK/errors" || { log "$(errors_without_keys | tail -n 3)"; return 1; }
  : >"$WORK/known"
  greet_again
}

# Whether the new file changes only what can change under a live tunnel. The addresses cannot
# change, nor can the port, which the firewall's rules contain.
has_same_interface() {
  local kept='^(Address|MTU|PostDown) = |^#address |^PostUp = (ip -6 address|wg set)' port
  port=$(sed -n 's/^ListenPort = //p' "$WORK/new")
  [[ $(grep -E "$kept" "$CONFIG") == "$(grep -E "$kept" "$WORK/new")" &&
    $(wg show "$INTERFACE" public-key) == "$(public_key)" &&
    ${port:-any} =~ ^(any|$(wg show "$INTERFACE" listen-port))$ ]]
}

# Changes the firewall first, whatever happens then. Computes every change of the peers before
# making the first one. Keeps the private key, the port and the endpoints of known peers.
change_in_place() {
  load_firewall "$WORK/new" && find_changes || return
  # Run in $WORK, because the changes name files there. 100 peers at a time.
  (cd "$WORK" && xargs -r -n 300 wg set "$INTERFACE" <removals &&
    xargs -r -n 400 wg set "$INTERFACE" <changes) 2>"$WORK/errors" || {
    log "$(errors_without_keys)"
    return 1
  }
  rm -rf "$WORK/psks"
  note_moves "$CONFIG" "$WORK/new" || return
  mv "$WORK/new" "$CONFIG" || return
  store_configuration
  greet_new_peers && greet_moved_peers
}

# Leaves in $WORK how the peers of $WORK/new differ from those of the tunnel. changes.awk says how.
find_changes() {
  rm -rf "$WORK/psks" && mkdir "$WORK/psks" || return
  wg show "$INTERFACE" dump |
    awk -v folder="$WORK" -f "$AGENT_FOLDER/host/changes.awk" - "$WORK/new"
}

# Sets the endpoints of new peers, and then their addresses and keepalives.
greet_new_peers() {
  [[ -s $WORK/greetings ]] || return 0
  refresh_endpoints || return
  # Usually, a name that resolves at all does so within a second.
  for _ in {1..10}; do
    looks_up || break
    sleep 0.1
  done
  # Each peer has four arguments, so 400 do not split one.
  xargs -n 400 wg set "$INTERFACE" <"$WORK/greetings" && greet_again
}

# Sends a handshake to the peers that `agentfiles mesh path` has begun to forward. WireGuard's
# next handshake may be 5 s away.
greet_forwarded_peers() {
  newly_forwarded >"$WORK/forwarded" && touch "$WORK/known" || return
  [[ -s $WORK/forwarded ]] || return 0
  grep -vxF -f "$WORK/forwarded" "$WORK/known" >"$WORK/spared" || true
  mv "$WORK/spared" "$WORK/known" && greet_again 2
}

# Sends a packet to the peers that have moved, at their new endpoints. A peer behind a NAT may be
# waiting for it.
greet_moved_peers() {
  [[ -s $WORK/moved ]] || return 0
  refresh_endpoints && ask_peers <"$WORK/moved"
  : >"$WORK/moved"
}

# greet_again [<tenths of a second>]: sends another handshake after about this time, 1 s by default.
# Runs in the background, so that the next change does not wait for it.
greet_again() {
  stop_greeting
  greet_silent_peers "${1:-8}" 2>/dev/null &
  greeting=$!
}

# greet_silent_peers <tenths of a second>: sends another handshake to the peers that do not answer
# within about this time, except for those in $WORK/known. The first handshake is lost if the other
# side has not applied the same change yet, and may be lost if both sides begin at the same time.
# WireGuard retries only after 5 s, unless the peer is removed and added again.
greet_silent_peers() {
  # Wait for a random time, so that both sides do not begin at the same time again.
  for _ in $(seq $(($1 + RANDOM % 6))); do
    sleep 0.1
    silent_peers >"$WORK/unanswered" || return
    [[ -s $WORK/unanswered ]] || return 0
  done
  # Ignore the signal until the peers are added again, so that none is left out.
  trap '' TERM
  sed -n 's/^PublicKey = \(.*\)/peer \1 remove/p' "$WORK/unanswered" |
    xargs -n 300 wg set "$INTERFACE" && wg addconf "$INTERFACE" "$WORK/unanswered"
}

# Prints the part of the configuration with the peers that have an endpoint and have never answered,
# except for those in $WORK/known.
silent_peers() {
  wg show "$INTERFACE" latest-handshakes >"$WORK/handshakes" || return
  wg showconf "$INTERFACE" | awk '
    FILENAME == ARGV[1] || FILENAME == ARGV[2] { if ($2 != "0") spared[$1]; next }
    $1 == "[Peer]" && !($4 in spared) && /\nEndpoint = / { print $0 "\n" }
  ' "$WORK/known" "$WORK/handshakes" RS= -
}

# An error of wg repeats the line that was refused, which may hold a secret.
errors_without_keys() {
  sed 's|[A-Za-z0-9+/]\{40,\}=*|(a key)|g' "$WORK/errors"
}

# --- what runs in the background ----------------------------------------------------------------

stop_greeting() {
  stop "$greeting"
  greeting=
}

# runs <process>: asks the shell for its own jobs, because another process may have got the number
# of one that has ended.
runs() {
  [[ -n $1 ]] && grep -qx "$1" <<<"$(jobs -pr)"
}

# stop <process>: also waits for the end, because a process that is being killed may be about to set
# a peer.
stop() {
  ! runs "$1" || { kill "$1" && wait "$1"; } 2>/dev/null || true
}
