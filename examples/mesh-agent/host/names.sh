# shellcheck shell=bash
# Keeps the names of the peers in this host's /etc/hosts, in a separate block that names.awk
# describes. Source this file with tunnel.sh.
#
# The caller sets HOSTS_FILE. If it is empty, no names are kept.

# The names of peers from the service: each line has an agent_id and its name, which never changes.
readonly NAMES=$CONFIG_DIR/$INTERFACE.names

# Set once writing the block has failed, so that this is logged only once.
names_failed=

# take_in_names <answer of /netmap>: stores the names that are DNS labels.
take_in_names() {
  jq -r '.peers[] | select(.self | not) | "\(.agent_id) \(.name)"' "$1" 2>/dev/null |
    grep -xE '[A-Za-z0-9][A-Za-z0-9._:@-]{0,127} [a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?' |
    grep -vE ' (null|[0-9]+|0x[0-9a-f]*)$' >"$WORK/names-of-peers" || true
  replace_stored "$WORK/names-of-peers" "$NAMES" || log "the names of the peers cannot be stored"
}

# Whether the configuration has a peer whose name is unknown.
lacks_names() {
  [[ -n $HOSTS_FILE && -e $CONFIG ]] || return 1
  touch "$NAMES"
  awk '
    FILENAME == ARGV[1] { known[$1]; next }
    NF == 2 && $1 == "#" && !($2 in known) && /^# [A-Za-z0-9][A-Za-z0-9._:@-]*$/ { exit lacks = 1 }
    END { exit !lacks }
  ' "$NAMES" "$CONFIG"
}

# Writes the names of the configuration's peers into the file, unless they are already there.
keep_names() {
  [[ -z $HOSTS_FILE || ! -e $CONFIG ]] || write_names "$CONFIG"
}

# Writes the names again if another program has written the file since.
keep_names_again() {
  [[ ! -e $WORK/hosts.new || ! $HOSTS_FILE -nt $WORK/hosts.new ]] || keep_names
}

remove_names() {
  [[ -z $HOSTS_FILE ]] || write_names /dev/null
}

# write_names <configuration>: logs the reason of a failure once.
write_names() {
  local reason
  touch "$NAMES"
  if reason=$(write_block "$1" 2>&1); then
    names_failed=
  elif [[ -z $names_failed ]]; then
    names_failed=yes
    log "the names of the peers cannot be written to $HOSTS_FILE: ${reason%%$'\n'*}"
  fi
}

# write_block <configuration>: makes other agents of this host wait meanwhile. If the file is a
# link, writes the link's target.
write_block() (
  file=$(readlink -e "$HOSTS_FILE") || { echo "there is no such file"; exit 1; }
  exec 8<"$(dirname "$file")"
  flock -w 5 8 || { echo "another program has locked its folder"; exit 1; }
  cp "$file" "$WORK/hosts.old" || exit
  # Some programs end a text at a NUL byte.
  if grep -qaP '\0' "$WORK/hosts.old"; then
    echo "it is not a text file"
    exit 1
  fi
  awk -v begin="# begin of mesh-agent $INTERFACE" -v end="# end of mesh-agent $INTERFACE" \
    -v own_name="$(uname -n)" -f "$AGENT_FOLDER/host/names.awk" part=rest "$WORK/hosts.old" \
    part=names "$NAMES" part=registered "$1" >"$WORK/hosts.new" || exit
  ! cmp -s "$WORK/hosts.new" "$file" || exit 0
  if is_mounted "$file" || ! replace_file "$file" 2>/dev/null; then overwrite_file "$file"; fi
)

# Whether the file is a mount point, as in many containers. A mount point cannot be replaced.
is_mounted() {
  awk -v file="$1" '$5 == file { found = 1 } END { exit !found }' /proc/self/mountinfo
}

# replace_file <file>: renames a new file with the same mode, owner and attributes over it. If
# another program has changed the file meanwhile, it fails and that change stays.
replace_file() {
  local new=$1.mesh-agent
  if rm -f "$new" && { cp --preserve=all "$1" "$new" 2>/dev/null || cp -p "$1" "$new"; } &&
    cat "$WORK/hosts.new" >"$new" && cmp -s "$WORK/hosts.old" "$1" && mv -fT "$new" "$1"; then
    return
  fi
  rm -f "$new"
  return 1
}

# overwrite_file <file>: writes the new content in one write, padded with empty lines to the old
# length, and then cuts off the padding. So no other line is ever missing, even if this process is
# killed.
overwrite_file() {
  local old_size new_size
  cmp -s "$WORK/hosts.old" "$1" || { echo "it has changed meanwhile"; return 1; }
  old_size=$(wc -c <"$1") new_size=$(wc -c <"$WORK/hosts.new")
  cp "$WORK/hosts.new" "$WORK/hosts.padded" || return
  if ((new_size < old_size)); then
    head -c "$((old_size - new_size))" /dev/zero | tr '\0' '\n' >>"$WORK/hosts.padded" || return
  fi
  dd if="$WORK/hosts.padded" of="$1" bs=4M conv=notrunc 2>/dev/null ||
    { echo "it cannot be written to"; return 1; }
  truncate -s "$new_size" "$1"
}
