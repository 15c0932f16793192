/*
 * The functions that the patched sources of lwIP call. The patch only adds the calls; congestion.c
 * has the functions.
 */
#ifndef MESH_HOOKS_H
#define MESH_HOOKS_H

#include "lwip/arch.h"

struct tcp_pcb;
struct tcp_seg;
struct netif;

/* The host's monotonic clock at the time of the host's call. It wraps around. */
u32_t mesh_microseconds(void);

/* A block of a SACK option has arrived. */
void mesh_sack_block(struct tcp_pcb *pcb, u32_t left, u32_t right);
/*
 * How many bytes this segment's SACK option reported for the first time. Called once per segment.
 */
u32_t mesh_take_newly_sacked(struct tcp_pcb *pcb);
/* A segment was acknowledged and is about to be freed. */
void mesh_segment_acked(struct tcp_pcb *pcb, const struct tcp_seg *seg);
/* New data was sent, up to this sequence number. */
void mesh_sent_new(struct tcp_pcb *pcb, u32_t end);
/* An acknowledgement moved pcb->lastack by this many bytes; the queues are up to date. */
void mesh_acknowledged(struct tcp_pcb *pcb, u32_t acked);
/* Another duplicate acknowledgement has arrived. */
void mesh_duplicate_ack(struct tcp_pcb *pcb);
/* The retransmission timer expired: everything is about to be sent again. */
void mesh_timed_out(struct tcp_pcb *pcb);

/*
 * What was sent again and has not arrived for long is sent once more, also if nothing else arrives
 * that would show its loss.
 */
void mesh_repair_late(void);

/* How many more bytes may be queued. */
u32_t mesh_room(const struct tcp_pcb *pcb);

/* Sends a segment again while it stays in pcb->unacked. Defined in the patched tcp_out.c. */
s8_t mesh_resend(struct tcp_pcb *pcb, struct tcp_seg *seg);

#endif
