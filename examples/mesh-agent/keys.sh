# shellcheck shell=bash
# This host's private key, and how another key replaces it. Source this file with host/tunnel.sh and
# service.sh.
#
# The next key is kept beside the current one until the service knows the next public key. Only then
# does it replace the current key, in one step. If anything ends in between, the next start
# registers the next key again, which is idempotent, and goes on from there.

readonly NEXT_KEY=$PRIVATE_KEY.new
# How long `rotate` waits for the running agent.
readonly ROTATION_SECONDS=120

# Prints the path of the private key whose public key the service has to know.
key_to_register() {
  if [[ -s $NEXT_KEY ]]; then echo "$NEXT_KEY"; else echo "$PRIVATE_KEY"; fi
}

# The public key that the service has to know.
public_key_to_register() {
  if [[ -s $NEXT_KEY ]]; then
    wg pubkey <"$NEXT_KEY" 2>/dev/null && return
    log "$NEXT_KEY holds no key; removing it"
    rm -f "$NEXT_KEY"
  fi
  # A disk that was full, or a crash, leaves an empty file.
  [[ -s $PRIVATE_KEY ]] || make_key "$PRIVATE_KEY" || return
  public_key
}

# make_key <file>: writes a new private key to a file, completely or not at all. `wg genkey` does
# not notice a full disk.
make_key() {
  wg genkey 2>/dev/null >"$1.part" && wg pubkey <"$1.part" >/dev/null 2>&1 && sync "$1.part" &&
    mv "$1.part" "$1" && return
  rm -f "$1.part"
  log "no private key can be written to $1: is the disk full?"
  return 1
}

# Replaces the current key by the next one. Call this once the service knows the next public key.
adopt_next_key() {
  [[ -s $NEXT_KEY ]] || return 0
  mv "$NEXT_KEY" "$PRIVATE_KEY" && log "the private key is replaced; the public key is $(public_key)"
}

# Makes the next key. Keeps an existing one, because the service may know it already.
make_next_key() {
  [[ -s $NEXT_KEY ]] || make_key "$NEXT_KEY"
}

# rotate [<endpoint>]: registers the next key with this endpoint. Without an endpoint, waits until
# the running agent has registered it.
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
