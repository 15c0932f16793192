# shellcheck shell=bash
# What an agent takes of what it is served: so much, from there, and of a configuration its data
# alone. To be sourced, with `pipefail` set: that defines functions and changes nothing on the host.

AGENT_FOLDER=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
readonly AGENT_FOLDER

# The most that is taken of one answer: a configuration of a thousand peers has 0.2 MiB.
readonly LONGEST_ANSWER_MIB=16

# bounded_curl <arguments>: becomes curl, which cannot make a file longer than that, and fails with
# 63 where the length was announced, else with 23. Older versions keep --max-filesize to announced
# lengths, so the kernel bounds every file that curl writes, headers too. Ignored, its signal ends
# no process, and leaves no core with an agent key in it. A limit that is lower already stays.
bounded_curl() {
  trap '' XFSZ
  ulimit -f "$((LONGEST_ANSWER_MIB * 1024))" 2>/dev/null || true
  exec curl "$@" --max-filesize "$((LONGEST_ANSWER_MIB * 1024 * 1024))"
}

# require_safe_url <url>: says so and fails, unless the server there has to prove its identity.
# What a host answers to itself, nobody else has touched.
require_safe_url() {
  # Any other spelling could be a name to curl, and a name server's to answer.
  local octet='(0|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])'
  local loopback="localhost|127(\\.$octet){3}|\\[::1\\]"
  [[ $1 =~ ^(https://[A-Za-z0-9.:_-]+|https://\[[0-9A-Fa-f:]+\](:[0-9]+)?|http://($loopback)(:[0-9]+)?)(/[^[:space:]]*)?$ ]] && return
  echo "MESH_URL must begin with https://, or with http:// and a loopback address; it is $1" >&2
  return 1
}

# require_hook_path <path>: says so and fails, unless the path can stand in a hook as it is.
require_hook_path() {
  [[ $1 =~ ^/[A-Za-z0-9._/@%-]+$ && ! $1 =~ %([^i]|$) ]] && return
  echo "the path of the private key must have nothing but A-Z a-z 0-9 . _ / @ - and %i; it is $1" >&2
  return 1
}

# own_configuration <served file> <hook|mark>: prints it. Fails, says why, and prints nothing, where
# a line is neither data of a known form nor a hook or a rule, which are left out. FIREWALL says
# which firewall it gets, PRIVATE_KEY_FILE where its key is. A line that is refused is shown without
# the keys in it.
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

# check <served file>: prints the configuration that this agent would run in its place.
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
