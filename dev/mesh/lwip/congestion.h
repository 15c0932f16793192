/* The state in a connection's control block for congestion.c. */
#ifndef MESH_CONGESTION_H
#define MESH_CONGESTION_H

#include "lwip/arch.h"

struct mesh_congestion {
  /* Loss recovery ends when everything up to here is acknowledged (RFC 6582). */
  u32_t recover;
  /* The bytes of segments that SACK has reported and that are not yet acknowledged. */
  u32_t sacked;
  /* How many of them the current segment reported first. */
  u32_t newly_sacked;
  /* What has been delivered, the last time somebody asked how much more it is. */
  u32_t counted;
  /* The highest end that SACK has reported. */
  u32_t highest_sacked;
  /*
   * The current measurement of a round trip: the end of the data that is measured, when it was
   * sent, and how much had been delivered by then. Only one measurement runs at a time.
   */
  u32_t timed_end;
  u32_t timed_at;
  u32_t timed_delivered;
  /* The highest rate of this period and of the one before, in bytes a second. */
  u32_t highest_rate;
  u32_t highest_rate_before;
  /* The shortest round trip of this period and of the one before, in microseconds; 0: none. */
  u32_t shortest;
  u32_t shortest_before;
  u32_t shortest_began;
  /* The last round trip, in microseconds. */
  u32_t last;
  /*
   * Since the last judgement of the losses: what was delivered up to it, and the bytes that were
   * sent again.
   */
  u32_t judged_delivered;
  u32_t resent;
  /* When the losses last were those of a full path; only if `was_full`. */
  u32_t full_at;
  /* The rate when the path was last seen to carry more, and for how many round trips it has not. */
  u32_t plateau_rate;
  u8_t plateau_rounds;
  u8_t was_full;
  u8_t rates;
  u8_t timing;
  u8_t recovered_once;
};

#endif
