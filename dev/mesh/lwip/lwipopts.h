/*
 * lwIP as the TCP/IP of one peer: one interface without a link layer, TCP alone, no threads.
 * Every option that is not here has lwIP's default.
 */
#ifndef MESH_LWIPOPTS_H
#define MESH_LWIPOPTS_H

/* No operating system: everything happens within a call of the host. */
#define NO_SYS 1
#define LWIP_TIMERS 0
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define LWIP_SINGLE_NETIF 1
#define LWIP_STATS 0
#define LWIP_NETIF_LOOPBACK 0

/* Memory grows as needed, up to the linker's limit. */
#define MEM_LIBC_MALLOC 1
#define MEMP_MEM_MALLOC 1
#define MEM_ALIGNMENT 4
/* More than 255 waiting acknowledgements may reference one segment. */
#define LWIP_PBUF_REF_T u16_t

/* IP: no link layer, no fragments in either direction, no autoconfiguration. */
#define LWIP_ARP 0
#define LWIP_ETHERNET 0
#define LWIP_IPV4 1
#define IP_REASSEMBLY 0
#define IP_FRAG 0
#define IP_FORWARD 0
#define LWIP_IPV6 1
#define LWIP_IPV6_REASS 0
#define LWIP_IPV6_FRAG 0
#define LWIP_IPV6_FORWARD 0
#define LWIP_IPV6_AUTOCONFIG 0
#define LWIP_IPV6_MLD 0
#define LWIP_IPV6_SEND_ROUTER_SOLICIT 0
#define LWIP_IPV6_DUP_DETECT_ATTEMPTS 0
#define LWIP_ND6_QUEUEING 0
#define LWIP_ND6_ALLOW_RA_UPDATES 0
#define LWIP_ND6_TCP_REACHABILITY_HINTS 0
#define LWIP_ICMP 1
#define LWIP_ICMP6 1
#define LWIP_UDP 0
#define LWIP_DNS 0

/* TCP. The interface has an MTU of 1280, the smallest that IPv6 allows. */
#define TCP_MSS 1240
/* A segment has room for its options and for data, whatever MSS the other side asks for. */
#define MESH_LEAST_MSS 64
#define LWIP_WND_SCALE 1
#define TCP_RCV_SCALE 7
#define TCP_WND (2 * 1024 * 1024)
#define TCP_SND_BUF (4 * 1024 * 1024)
#define TCP_SND_QUEUELEN (4 * TCP_SND_BUF / TCP_MSS)
#define TCP_SNDLOWAT (32 * 1024)
#define TCP_WND_UPDATE_THRESHOLD (16 * TCP_MSS)
#define LWIP_TCP_TIMESTAMPS 1
#define LWIP_TCP_SACK_OUT 1
#define TCP_QUEUE_OOSEQ 1
#define TCP_OOSEQ_MAX_BYTES TCP_WND
/* A peer that sends single bytes out of order must not fill the memory with their headers. */
#define TCP_OOSEQ_MAX_PBUFS 4096
#define TCP_LISTEN_BACKLOG 1
/* A port can be listened on again while connections of the earlier listener are open. */
#define SO_REUSE 1
/* TCP's clock advances every two of these. */
#define TCP_TMR_INTERVAL 50
/* TIME-WAIT lasts a minute, as on Linux. */
#define TCP_MSL 30000UL
/* A SYN is sent every second, twelve times, because finding a path may take eight seconds. */
#define TCP_SYNMAXRTX 12
/* RFC 6928. */
#define MESH_INITIAL_WINDOW(mss) ((tcpwnd_size_t)(10 * (mss)))

#define LWIP_HOOK_FILENAME "hooks.h"
#define LWIP_HOOK_TCP_ISN(local_ip, local_port, remote_ip, remote_port) mesh_random()

#endif
