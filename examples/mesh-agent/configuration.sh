# shellcheck shell=bash
# Decides what an agent accepts from the service: how long an answer may be, from which server, and
# only the data of a configuration. Source this file with `pipefail` set. It only defines functions.

AGENT_FOLDER=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
readonly AGENT_FOLDER

# The longest answer that is accepted. A configuration of a thousand peers has 0.2 MiB.
readonly LONGEST_ANSWER_MIB=16

# bounded_curl <arguments>: replaces this process by curl, which cannot write a longer file. It
# fails with 63 if the length was announced, else with 23. Older versions of curl apply
# --max-filesize only to announced lengths, so a kernel limit bounds every file that curl writes,
# including headers. The limit's signal is ignored, so that it neither ends a process nor leaves a
# core with an agent key in it. A lower limit that is already set stays.
bounded_curl() {
  trap '' XFSZ
  ulimit -f "$((LONGEST_ANSWER_MIB * 1024))" 2>/dev/null || true
  exec curl "$@" --max-filesize "$((LONGEST_ANSWER_MIB * 1024 * 1024))"
}

# require_safe_url <url>: fails with a message unless the server must prove its identity (HTTPS) or
# is this host itself. Nobody else can alter what a host answers to itself.
require_safe_url() {
  # No other spelling of loopback: curl could take it for a name, which a name server resolves.
  local octet='(0|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])'
  local loopback="localhost|127(\\.$octet){3}|\\[::1\\]"
  [[ $1 =~ ^(https://[A-Za-z0-9.:_-]+|https://\[[0-9A-Fa-f:]+\](:[0-9]+)?|http://($loopback)(:[0-9]+)?)(/[^[:space:]]*)?$ ]] && return
  echo "MESH_URL must begin with https://, or with http:// and a loopback address; it is $1" >&2
  return 1
}

# require_hook_path <path>: fails with a message unless the path can be used unquoted in a hook.
require_hook_path() {
  [[ $1 =~ ^/[A-Za-z0-9._/@%-]+$ && ! $1 =~ %([^i]|$) ]] && return
  echo "the path of the private key must have nothing but A-Z a-z 0-9 . _ / @ - and %i; it is $1" >&2
  return 1
}

# own_configuration <served file> <hook|mark>: prints the agent's own configuration. Hooks and rules
# are left out. If any other line is not data of a known form, it fails with a reason and prints
# nothing. FIREWALL selects the firewall, and PRIVATE_KEY_FILE is the path of the private key. A
# refused line is shown without the keys in it.
own_configuration() {
  local others
  others=$(LC_ALL=C tr -d '\n\040-\176' <"$1" | wc -c) || return
  if ((others > 0)); then
    echo "the configuration is refused: it has characters that are not printable ASCII" >&2
    return 1
  fi
  {
    LC_ALL=C awk -v firewall="$FIREWALL" -v private_key="$PRIVATE_KEY_FILE" -v names="$2" \
      -f "$AGENT_FOLDER/addresses.awk" -f "$AGENT_FOLDER/configuration.awk" \
      "$AGENT_FOLDER/own.conf" "$1" 2>&1 >&3 |
      sed 's|[A-Za-z0-9+/]\{20,\}=*|(a key)|g; s|^\(.\{300\}\).*|\1 (and more)|' >&2
  } 3>&1
}

# check <served file>: prints the configuration that this agent would run instead.
check() {
  FIREWALL=${FIREWALL:-nftables}
  PRIVATE_KEY_FILE=${PRIVATE_KEY_FILE:-/etc/wireguard/%i.key}
  require_firewall_kind "$FIREWALL" && require_hook_path "$PRIVATE_KEY_FILE" &&
    own_configuration "$1" hook
}

require_firewall_kind() {
  [[ $1 == nftables || $1 == none ]] && return
  echo "FIREWALL must be nftables or none; it is $1" >&2
  return 1
}
