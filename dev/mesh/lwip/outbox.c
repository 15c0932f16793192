/*
 * Collects packets for the host, so that one call passes on many packets and few acknowledgements.
 */
#include <string.h>

#include "lwip/priv/tcp_priv.h"
#include "outbox.h"

IMPORT(output) void host_output(const u8_t *packets, u32_t length);

/* Packets to send. Each follows its length in two bytes. */
static u8_t outbox[65536];
static u32_t outbox_length;
/* One more than where the last packet begins, if that is a pure acknowledgement; else 0. */
static u32_t last_ack;

EXPORT(flush) void flush(void) {
  u32_t length = outbox_length;
  outbox_length = 0;
  last_ack = 0;
  if (length > 0) {
    host_output(outbox, length);
  }
}

/* The TCP header of a packet that is only an acknowledgement, without data or SACK; else NULL. */
static const struct tcp_hdr *pure_ack(const u8_t *packet, u32_t length) {
  u32_t at = packet[0] >> 4 == 4 ? 20 : 40;
  const struct tcp_hdr *header = (const struct tcp_hdr *)(packet + at);
  u32_t own = length - at;
  if (packet[at == 20 ? 9 : 6] != IP_PROTO_TCP || TCPH_FLAGS(header) != TCP_ACK ||
      own != TCPH_HDRLEN_BYTES(header) || own > TCP_HLEN + LWIP_TCP_OPT_LEN_TS_OUT) {
    return NULL;
  }
  return header;
}

/*
 * Whether a later acknowledgement makes an earlier one redundant: same addresses and ports, and a
 * higher number.
 */
static int replaces(const u8_t *later, const u8_t *earlier, u32_t length) {
  u32_t at = later[0] >> 4 == 4 ? 12 : 8;
  u32_t addresses = at == 12 ? 8 + 4 : 32 + 4;
  const struct tcp_hdr *new = pure_ack(later, length);
  const struct tcp_hdr *old = pure_ack(earlier, length);
  return memcmp(later + at, earlier + at, addresses) == 0 &&
         TCP_SEQ_GT(lwip_ntohl(new->ackno), lwip_ntohl(old->ackno));
}

/*
 * Copies a packet to the outbox. If it is an acknowledgement that makes the last one redundant, it
 * replaces that.
 */
err_t put_out(struct pbuf *packet) {
  u32_t length = packet->tot_len;
  u8_t *at;
  int is_ack;
  if (outbox_length + 2 + length > sizeof(outbox)) {
    flush();
  }
  at = outbox + outbox_length;
  at[0] = (u8_t)(length >> 8);
  at[1] = (u8_t)length;
  pbuf_copy_partial(packet, at + 2, (u16_t)length, 0);
  is_ack = pure_ack(at + 2, length) != NULL;
  if (is_ack && last_ack != 0 && outbox_length - (last_ack - 1) == length + 2 &&
      replaces(at + 2, outbox + last_ack + 1, length)) {
    memcpy(outbox + last_ack + 1, at + 2, length);
    return ERR_OK;
  }
  last_ack = is_ack ? outbox_length + 1 : 0;
  outbox_length += 2 + length;
  return ERR_OK;
}
