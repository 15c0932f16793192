#!/bin/sh
# set-endpoint.sh <interface> <public key> <host> <port>: has the interface send to a peer there.
#
# The agent that registered a name decides what it resolves to. So the kernel is asked where the
# address leads: it is not set if that is this host itself, or the tunnel, which would carry its own
# packets. The kernel does not know that `::` and addresses that begin with it, such as
# ::ffff:127.0.0.1, may lead here too.
address=$(getent ahosts "$3") || exit
address=${address%% *}
route=$(ip -o route get "$address") || exit
case $address in ::*) exit 1 ;; esac
case $route in "" | local* | broadcast* | multicast* | *" dev $1 "*) exit 1 ;; esac
case $address in *:*) address="[$address]" ;; esac
exec wg set "$1" peer "$2" endpoint "$address:$4"
