/*
 * The functions that the host calls, and those that notify it. The host holds control blocks as
 * numbers. It forgets a block when it receives `ended` with 1 or `failed`, and when it closes or
 * aborts the block.
 */
#include <string.h>

#include "lwip/init.h"
#include "lwip/ip.h"
#include "lwip/netif.h"
#include "lwip/priv/tcp_priv.h"
#include "hooks.h"
#include "outbox.h"

IMPORT(clock) double host_clock(void);
IMPORT(connected) void host_connected(u32_t id);
IMPORT(accepted) u32_t host_accepted(u32_t listener, struct tcp_pcb *pcb);
IMPORT(received) void host_received(u32_t id, const void *bytes, u32_t length);
IMPORT(ended) void host_ended(u32_t id, u32_t is_over);
IMPORT(sent) void host_sent(u32_t id, u32_t length);
IMPORT(failed) void host_failed(u32_t id, s32_t error);

/* Bytes that the host writes before a call, or reads after it. */
static u8_t scratch[65536];

static struct netif interface;
static struct pbuf *incoming;
static double now;

u32_t mesh_microseconds(void) {
  return (u32_t)(u64_t)(now * 1000.0);
}

u32_t sys_now(void) {
  return (u32_t)(u64_t)now;
}

static err_t output_ip4(struct netif *netif, struct pbuf *packet, const ip4_addr_t *to) {
  LWIP_UNUSED_ARG(netif);
  LWIP_UNUSED_ARG(to);
  return put_out(packet);
}

static err_t output_ip6(struct netif *netif, struct pbuf *packet, const ip6_addr_t *to) {
  LWIP_UNUSED_ARG(netif);
  LWIP_UNUSED_ARG(to);
  return put_out(packet);
}

static err_t set_up(struct netif *netif) {
  netif->output = output_ip4;
  netif->output_ip6 = output_ip6;
  netif->flags = 0;
  return ERR_OK;
}

EXPORT(scratch) u8_t *scratch_bytes(void) {
  return scratch;
}

/* Reads an address from the scratch buffer: 4 or 16 bytes. */
static void read_address(ip_addr_t *address, u32_t length) {
  if (length == 4) {
    IP_SET_TYPE_VAL(*address, IPADDR_TYPE_V4);
    memcpy(ip_2_ip4(address), scratch, 4);
  } else {
    ip_addr_set_zero_ip6(address);
    memcpy(ip_2_ip6(address)->addr, scratch, 16);
  }
}

EXPORT(start) void start(u32_t mtu) {
  now = host_clock();
  lwip_init();
  netif_add(&interface, NULL, NULL, NULL, NULL, set_up, ip_input);
  interface.mtu = (u16_t)mtu;
#if LWIP_ND6_ALLOW_RA_UPDATES
  interface.mtu6 = (u16_t)mtu;
#endif
  netif_set_default(&interface);
  netif_set_link_up(&interface);
  netif_set_up(&interface);
}

EXPORT(set_address) void set_address(u32_t length) {
  ip_addr_t address;
  read_address(&address, length);
  if (length == 4) {
    netif_set_addr(&interface, ip_2_ip4(&address), IP4_ADDR_ANY4, IP4_ADDR_ANY4);
  } else {
    netif_ip6_addr_set(&interface, 0, ip_2_ip6(&address));
    netif_ip6_addr_set_state(&interface, 0, IP6_ADDR_PREFERRED);
  }
}

/*
 * Where the host must put a packet of this length, before it calls `input`; 0 if there is no
 * memory.
 */
EXPORT(input_buffer) void *input_buffer(u32_t length) {
  now = host_clock();
  incoming = pbuf_alloc(PBUF_RAW, (u16_t)length, PBUF_RAM);
  return incoming == NULL ? NULL : incoming->payload;
}

/*
 * Whether a packet is TCP or ICMP behind a header without options or extensions. Others are not
 * needed, and lwIP reads a header before it checks that there is one.
 */
static int is_plain(const struct pbuf *packet) {
  const u8_t *bytes = packet->payload;
  if (packet->len >= IP_HLEN && bytes[0] == 0x45) {
    return bytes[9] == IP_PROTO_TCP || bytes[9] == IP_PROTO_ICMP;
  }
  return packet->len >= IP6_HLEN && bytes[0] >> 4 == 6 &&
         (bytes[6] == IP6_NEXTH_TCP || bytes[6] == IP6_NEXTH_ICMP6);
}

EXPORT(input) void input(void) {
  struct pbuf *packet = incoming;
  incoming = NULL;
  if (packet != NULL && (!is_plain(packet) || interface.input(packet, &interface) != ERR_OK)) {
    pbuf_free(packet);
  }
}

/* One step of TCP's clock. Returns 0 if no connection needs another. */
EXPORT(tick) u32_t tick(void) {
  now = host_clock();
  tcp_tmr();
  mesh_repair_late();
  return tcp_active_pcbs != NULL || tcp_tw_pcbs != NULL;
}

static void forget(struct tcp_pcb *pcb) {
  tcp_arg(pcb, NULL);
  tcp_err(pcb, NULL);
  tcp_sent(pcb, NULL);
  tcp_recv(pcb, NULL);
}

static err_t on_received(void *id, struct tcp_pcb *pcb, struct pbuf *packets, err_t error) {
  struct pbuf *part;
  LWIP_UNUSED_ARG(error);
  if (packets != NULL) {
    for (part = packets; part != NULL; part = part->next) {
      host_received((u32_t)id, part->payload, part->len);
    }
    pbuf_free(packets);
  } else if (pcb->state == CLOSE_WAIT) {
    host_ended((u32_t)id, 0);
  } else {
    /* Both sides have ended. lwIP finishes the connection by itself and frees the block later. */
    forget(pcb);
    host_ended((u32_t)id, 1);
  }
  return ERR_OK;
}

static err_t on_sent(void *id, struct tcp_pcb *pcb, u16_t length) {
  LWIP_UNUSED_ARG(pcb);
  host_sent((u32_t)id, length);
  return ERR_OK;
}

static void on_failed(void *id, err_t error) {
  host_failed((u32_t)id, error);
}

static err_t on_connected(void *id, struct tcp_pcb *pcb, err_t error) {
  LWIP_UNUSED_ARG(pcb);
  LWIP_UNUSED_ARG(error);
  host_connected((u32_t)id);
  return ERR_OK;
}

static void watch(struct tcp_pcb *pcb, u32_t id) {
  tcp_arg(pcb, (void *)id);
  tcp_recv(pcb, on_received);
  tcp_sent(pcb, on_sent);
  tcp_err(pcb, on_failed);
  tcp_nagle_disable(pcb);
  ip_set_option(pcb, SOF_KEEPALIVE);
}

/* Writes the remote address to the scratch buffer, followed by its port in little-endian order. */
static void show_remote(const struct tcp_pcb *pcb) {
  u32_t length = IP_IS_V6_VAL(pcb->remote_ip) ? 16 : 4;
  scratch[0] = (u8_t)length;
  memcpy(scratch + 1, length == 4 ? (const void *)ip_2_ip4(&pcb->remote_ip)
                                  : (const void *)ip_2_ip6(&pcb->remote_ip)->addr, length);
  memcpy(scratch + 1 + length, &pcb->remote_port, 2);
}

static err_t on_accepted(void *listener, struct tcp_pcb *pcb, err_t error) {
  u32_t id;
  if (pcb == NULL || error != ERR_OK) {
    return ERR_VAL;
  }
  show_remote(pcb);
  id = host_accepted((u32_t)listener, pcb);
  if (id == 0) {
    tcp_abort(pcb);
    return ERR_ABRT;
  }
  watch(pcb, id);
  return ERR_OK;
}

/* Connects to the address in the scratch buffer. Returns 0 if there is no memory, port or route. */
EXPORT(connect) struct tcp_pcb *connect_to(u32_t id, u32_t length, u32_t port) {
  ip_addr_t address;
  struct tcp_pcb *pcb;
  now = host_clock();
  read_address(&address, length);
  pcb = tcp_new_ip_type(length == 4 ? IPADDR_TYPE_V4 : IPADDR_TYPE_V6);
  if (pcb == NULL) {
    return NULL;
  }
  watch(pcb, id);
  if (tcp_connect(pcb, &address, (u16_t)port, on_connected) != ERR_OK) {
    tcp_err(pcb, NULL);
    tcp_abort(pcb);
    return NULL;
  }
  return pcb;
}

/* Listens on a port of all own addresses. Returns 0 if the port is taken. */
EXPORT(listen) struct tcp_pcb *listen_on(u32_t id, u32_t port, u32_t backlog) {
  struct tcp_pcb *pcb = tcp_new_ip_type(IPADDR_TYPE_ANY);
  struct tcp_pcb *listener;
  if (pcb == NULL) {
    return NULL;
  }
  ip_set_option(pcb, SOF_REUSEADDR);
  if (tcp_bind(pcb, IP_ANY_TYPE, (u16_t)port) != ERR_OK ||
      (listener = tcp_listen_with_backlog(pcb, (u8_t)backlog)) == NULL) {
    tcp_abort(pcb);
    return NULL;
  }
  tcp_arg(listener, (void *)id);
  tcp_accept(listener, on_accepted);
  return listener;
}

EXPORT(local_port) u32_t local_port(const struct tcp_pcb *pcb) {
  return pcb->local_port;
}

EXPORT(unlisten) void unlisten(struct tcp_pcb *listener) {
  tcp_close(listener);
}

/* Queues as many bytes from the scratch buffer as there is room for. Returns how many. */
EXPORT(write) u32_t write_bytes(struct tcp_pcb *pcb, u32_t length) {
  u32_t room = mesh_room(pcb);
  now = host_clock();
  length = LWIP_MIN(length, LWIP_MIN(room, 0xffffU));
  while (length > 0 && tcp_write(pcb, scratch, (u16_t)length, TCP_WRITE_FLAG_COPY) != ERR_OK) {
    /* There are too many pieces, or there is no memory: try fewer bytes. */
    length /= 2;
  }
  tcp_output(pcb);
  return length;
}

/* The application has read bytes, so the receive window grows by as many. */
EXPORT(taken) void taken(struct tcp_pcb *pcb, u32_t length) {
  now = host_clock();
  for (; length > 0; length -= LWIP_MIN(length, 0xffffU)) {
    tcp_recved(pcb, (u16_t)LWIP_MIN(length, 0xffffU));
  }
}

EXPORT(end) void end(struct tcp_pcb *pcb) {
  now = host_clock();
  tcp_shutdown(pcb, 0, 1);
}

/* Ends both directions. Queued data is still sent; data that arrives is answered with a reset. */
EXPORT(close) void close_both(struct tcp_pcb *pcb) {
  now = host_clock();
  forget(pcb);
  tcp_close(pcb);
}

EXPORT(abort) void abort_now(struct tcp_pcb *pcb) {
  now = host_clock();
  forget(pcb);
  tcp_abort(pcb);
}
