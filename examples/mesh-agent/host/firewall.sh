# shellcheck shell=bash
# Checks that the host allows an agent to make tunnels, and keeps the tunnel's firewall loaded.
# Source this file with tunnel.sh.

readonly SANDBOX_PEER="the sandbox peer, agentfiles mesh join, needs neither root nor a TUN device"

# Fails with a message unless this process may make tunnels and firewalls here. Asks the kernel,
# because in a container root may lack the capability, and in a user namespace root may have a
# capability that does not apply to this network.
require_privileges() {
  if ((EUID != 0)); then
    log "root is needed to make the tunnel and its firewall; this is user $EUID; $SANDBOX_PEER"
    return 1
  fi
  local reason asked=nft
  if has_nft; then
    reason=$(nft list tables 2>&1 >/dev/null) && return
  else
    # Set the MTU to its current value, which changes nothing.
    asked=ip
    reason=$(ip link set dev lo mtu "$(</sys/class/net/lo/mtu)" 2>&1) && return
  fi
  log "CAP_NET_ADMIN is needed to make the tunnel and its firewall; $asked says: ${reason%%$'\n'*};" \
    "$SANDBOX_PEER"
  return 1
}

# Fails with a message unless a tunnel can be made here, by the kernel, or by the program that
# wg-quick runs if the kernel has no WireGuard.
require_tunnels() {
  local trial=mesh-trial$((RANDOM % 10000)) program=${WG_QUICK_USERSPACE_IMPLEMENTATION:-wireguard-go}
  is_up && return
  if ip link add "$trial" type wireguard 2>/dev/null; then
    ip link delete "$trial"
  elif [[ ! -c /dev/net/tun ]] || ! (: <>/dev/net/tun) 2>/dev/null; then
    log "no tunnel can be made here: the kernel has no WireGuard, and there is no TUN device" \
      "(/dev/net/tun); $SANDBOX_PEER"
    return 1
  elif ! command -v "$program" >/dev/null; then
    log "no tunnel can be made here: the kernel has no WireGuard, and $program is not installed"
    return 1
  fi
}

# Whether rules are loaded with nft. With FIREWALL=none, nft may be missing.
has_nft() {
  [[ $FIREWALL == nftables ]] || command -v nft >/dev/null
}

# Loads the firewall again if it is missing. After an `nft flush ruleset`, every port of this host
# would be open to every peer.
keep_firewall() {
  ! is_up || ! has_nft || nft -t list table inet "$(firewall_table)" >/dev/null 2>&1 && return
  log "the firewall is gone; loading it again"
  [[ -e $CONFIG ]] && load_firewall "$CONFIG" && return
  log "the firewall cannot be loaded; taking the tunnel down"
  take_down
}

# nft accepts neither + nor = in a name.
firewall_table() {
  echo "agent_mesh_${INTERFACE//[+=]/_}"
}

# load_firewall <configuration>: loads the rules, like the configuration's hook. First checks that
# their last line is there, because nft accepts empty input as a ruleset. With FIREWALL=none, the
# rules are only a guard against loops. A host without nft has no such guard.
load_firewall() {
  has_nft || return 0
  grep -qx '#nft }' "$1" || return
  sed -n "/^#nft /{s///;s/<table>/$(firewall_table)/;s/<interface>/$INTERFACE/
    s/<port>/$(wg show "$INTERFACE" listen-port)/;p;}" "$1" | nft -f - ||
    [[ $FIREWALL == none ]]
}
