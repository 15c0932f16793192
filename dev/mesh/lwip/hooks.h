/* What the patched sources of lwIP call. The patch adds calls; what they do is in congestion.c. */
#ifndef MESH_HOOKS_H
#define MESH_HOOKS_H

#include "lwip/arch.h"

struct tcp_pcb;
struct tcp_seg;
struct netif;

/* The host's monotonic clock, as it was when the host called. It wraps. */
u32_t mesh_microseconds(void);

/* A block of a SACK option that came in. */
void mesh_sack_block(struct tcp_pcb *pcb, u32_t left, u32_t right);
/* How many bytes this segment's SACK option reported for the first time. Called once a segment. */
u32_t mesh_take_newly_sacked(struct tcp_pcb *pcb);
/* A segment was acknowledged and is about to be freed. */
void mesh_segment_acked(struct tcp_pcb *pcb, const struct tcp_seg *seg);
/* Data was sent for the first time, up to a sequence number. */
void mesh_sent_new(struct tcp_pcb *pcb, u32_t end);
/* An acknowledgement moved pcb->lastack by a number of bytes; the queues are up to date. */
void mesh_acknowledged(struct tcp_pcb *pcb, u32_t acked);
/* One more duplicate acknowledgement. */
void mesh_duplicate_ack(struct tcp_pcb *pcb);
/* The retransmission timer ran out: everything is about to be sent again. */
void mesh_timed_out(struct tcp_pcb *pcb);

/* Sends a segment of pcb->unacked again, where it is. In the patched tcp_out.c. */
s8_t mesh_resend(struct tcp_pcb *pcb, struct tcp_seg *seg);

#endif
