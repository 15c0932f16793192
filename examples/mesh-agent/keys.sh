# shellcheck shell=bash
# This host's private key, and its replacement by another one. To be sourced with host/tunnel.sh and
# service.sh.
#
# The next key lies beside the present one until the service knows its public key. Only then it
# takes the place of the present one, in one step. So whatever ends in between, the next start
# registers the next key again, which changes nothing more, and goes on from there.

readonly NEXT_KEY=$PRIVATE_KEY.new
# How long `rotate` waits for the agent that runs.
readonly ROTATION_SECONDS=120

# Prints the path of the private key whose public key the service has to know.
key_to_register() {
  if [[ -s $NEXT_KEY ]]; then echo "$NEXT_KEY"; else echo "$PRIVATE_KEY"; fi
}

# The public key that the service has to know.
public_key_to_register() {
  if [[ -s $NEXT_KEY ]]; then
    wg pubkey <"$NEXT_KEY" 2>/dev/null && return
    log "$NEXT_KEY holds no key, and is removed"
    rm -f "$NEXT_KEY"
  fi
  public_key
}

# Once the service knows the next key.
adopt_next_key() {
  [[ -s $NEXT_KEY ]] || return 0
  mv "$NEXT_KEY" "$PRIVATE_KEY" && log "the private key is replaced; the public key is $(public_key)"
}

# Makes the next key, unless there is one: the service may know it already.
make_next_key() {
  [[ ! -s $NEXT_KEY ]] || return 0
  wg genkey >"$NEXT_KEY.part" && sync "$NEXT_KEY.part" && mv "$NEXT_KEY.part" "$NEXT_KEY"
}

# rotate [<endpoint>]: without the endpoint to register, an agent runs, and takes the next key.
rotate() {
  local deadline=$((SECONDS + ROTATION_SECONDS))
  [[ -s $PRIVATE_KEY ]] || {
    log "there is no private key to replace: start the agent"
    return 1
  }
  make_next_key || return
  if (($# > 0)); then
    register "$(public_key_to_register)" "$1" && adopt_next_key
    return
  fi
  while [[ -s $NEXT_KEY ]]; do
    ((SECONDS < deadline)) || {
      log "the agent has not registered the next key yet, and goes on trying"
      return 1
    }
    sleep 0.5
  done
  log "the public key is $(public_key)"
}
