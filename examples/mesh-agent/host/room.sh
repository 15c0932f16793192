# shellcheck shell=bash
# Keeps room for working files. Without it, this agent would not learn that a rule was revoked.
# Source this file after tunnel.sh, and service.sh after it. It only defines functions.

# What an answer of the service for a thousand peers needs, with all that is made of it.
readonly ROOM_BYTES=2097152
# Memory of this agent alone, which it mounts if every other place is full.
readonly SPARE=$RUN_DIR/.$INTERFACE.spare
# How long the tunnel stays up although no answer can be written.
readonly NO_ROOM_SECONDS=60

# When an answer could first not be written; empty if there is room.
no_room_since=

# Makes WORK. An agent that was killed left its own behind.
make_work() {
  remove_spare
  rm -rf "$WORK"
  mkdir "$WORK" && export TMPDIR=$WORK
}

# Moves CONFIG and WORK to another folder if RUN_DIR is full. The folder's name is random, because
# others can write to /dev/shm and /tmp. If these are full, too, mounts memory that nobody else can
# fill.
keep_room() {
  ! has_room || return 0
  local base folder work=$WORK config=$CONFIG
  stop_lookups
  stop_greeting
  for base in /dev/shm /tmp "$SPARE"; do
    [[ $base != "$SPARE" ]] || mount_spare || continue
    folder=$(mktemp -d "$base/mesh-agent.XXXXXX" 2>/dev/null) || continue
    WORK=$folder
    has_room || { rm -rf "$folder"; continue; }
    WORK=$folder/${work##*/} CONFIG=$folder/${config##*/}
    { mv "$work" "$WORK" || mkdir -p "$WORK"; } 2>/dev/null
    [[ ! -e $config ]] || mv "$config" "$CONFIG"
    TMPDIR=$WORK
    log "${work%/*} is full; until the next start, the working files are in $folder"
    [[ ${work%/*} == "$RUN_DIR" ]] || rm -rf "${work%/*}"
    return
  done
  WORK=$work
  return 1
}

has_room() {
  { head -c "$ROOM_BYTES" /dev/zero >"$WORK/room" && rm -f "$WORK/room"; } 2>/dev/null && return
  rm -f "$WORK/room"
  return 1
}

# Call this after a round that failed without room. Takes the tunnel down if the service has been
# answering for a minute, because its answer may be that a rule was revoked. Without an answer,
# nothing is missed: the tunnel stays up, as during any other failure of the service.
close_without_room() {
  log "there is no room for working files, neither in $RUN_DIR nor elsewhere"
  was_answered || return 0
  : "${no_room_since:=$SECONDS}"
  ((SECONDS - no_room_since >= NO_ROOM_SECONDS)) && is_up || return 0
  log "no answer can be written, and one may revoke a rule; taking the tunnel down"
  take_down
}

mount_spare() {
  [[ $WORK != "$SPARE"/* ]] || return
  { mkdir -p "$SPARE" && mount -t tmpfs -o size=64m,mode=700 tmpfs "$SPARE"; } 2>/dev/null
}

remove_spare() {
  [[ -e $SPARE ]] || return 0
  umount "$SPARE" 2>/dev/null || true
  rmdir "$SPARE" 2>/dev/null || true
}

remove_work() {
  rm -rf "$WORK"
  [[ ${WORK%/*} == "$RUN_DIR" ]] || rm -rf "${WORK%/*}"
  remove_spare
}
