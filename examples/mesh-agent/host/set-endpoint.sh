#!/bin/sh
# set-endpoint.sh <interface> <public key> <host> <port>: sets the endpoint of a peer.
#
# The agent that registered a name decides what the name resolves to. So this asks the kernel where
# the address leads. It does not set an address of this host, or one behind the tunnel, which would
# then carry its own packets. The kernel does not know that `::` and addresses that begin with it,
# such as ::ffff:127.0.0.1, may lead to this host too.
address=$(getent ahosts "$3") || exit
address=${address%% *}
route=$(ip -o route get "$address") || exit
case $address in ::*) exit 1 ;; esac
case $route in "" | local* | broadcast* | multicast* | *" dev $1 "*) exit 1 ;; esac
case $address in *:*) address="[$address]" ;; esac
exec wg set "$1" peer "$2" endpoint "$address:$4"
