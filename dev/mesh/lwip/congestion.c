/*
 * How much may be in flight, and what is sent again. lwIP itself repairs one loss per round trip
 * and halves its window at each loss. With this file, a sender learns by SACK what is lost (RFC
 * 6675). After a loss, it keeps as much in flight as the path was seen to deliver in the shortest
 * round trip, but never less than Reno would (Westwood+: Mascolo et al., 2001). While no more is
 * lost than by chance, the window is at least a little more than that (BBR: Cardwell et al., 2016),
 * so a lossy path is filled as well. While more is lost, the path is full, and it is Reno's.
 */
#include "hooks.h"

#include "lwip/priv/tcp_priv.h"

/* A segment counts as lost after this many later segments have arrived (RFC 5681). */
#define LATER_SEGMENTS 3

/* An older shortest round trip is forgotten, because the path may have become longer. */
#define PERIOD_US 10000000U

/*
 * An older rate is forgotten after this many round trips, because the path may have become slower.
 */
#define PERIOD_ROUNDS 10

/* Slow start has filled the path when this many round trips have delivered no quarter more (BBR). */
#define PLATEAU_ROUNDS 3

/* How much may wait to be sent, in bytes. What is in flight has room besides. */
#define MOST_UNSENT (384U * 1024U)

/* How late acknowledgements may be, because the programs at both ends wait for a processor. */
#define LATE_US 4000U

/*
 * Losses are judged once in so many segments: more than one in 40 are those of a full path. So are
 * eight lost segments at any time, if they are more than one in eight.
 */
#define JUDGED_SEGMENTS 1024
#define MOST_LOSS_DIVISOR 40
#define MANY_LOST 8

static u32_t begin_of(const struct tcp_seg *seg) {
  return lwip_ntohl(seg->tcphdr->seqno);
}

static u32_t end_of(const struct tcp_seg *seg) {
  return begin_of(seg) + TCP_TCPLEN(seg);
}

static u32_t delivered(const struct tcp_pcb *pcb) {
  return pcb->lastack + pcb->congestion.sacked;
}

void mesh_sack_block(struct tcp_pcb *pcb, u32_t left, u32_t right) {
  struct mesh_congestion *state = &pcb->congestion;
  struct tcp_seg *seg;
  /* A block outside of what is in flight reports a duplicate (RFC 2883), or is invalid. */
  if (TCP_SEQ_LEQ(left, pcb->lastack) || TCP_SEQ_GEQ(left, right) ||
      TCP_SEQ_GT(right, pcb->snd_nxt)) {
    return;
  }
  for (seg = pcb->unacked; seg != NULL && TCP_SEQ_LT(begin_of(seg), right); seg = seg->next) {
    if (TCP_SEQ_GEQ(begin_of(seg), left) && TCP_SEQ_LEQ(end_of(seg), right) &&
        !(seg->flags & TF_SEG_SACKED)) {
      seg->flags |= TF_SEG_SACKED;
      state->sacked += TCP_TCPLEN(seg);
      state->newly_sacked += TCP_TCPLEN(seg);
      if (state->sacked == TCP_TCPLEN(seg) || TCP_SEQ_GT(end_of(seg), state->highest_sacked)) {
        state->highest_sacked = end_of(seg);
      }
    }
  }
}

/* What has arrived since the last call. */
static u32_t newly_delivered(struct tcp_pcb *pcb) {
  u32_t before = pcb->congestion.counted;
  pcb->congestion.counted = delivered(pcb);
  return pcb->congestion.counted - before;
}

u32_t mesh_take_newly_sacked(struct tcp_pcb *pcb) {
  u32_t bytes = pcb->congestion.newly_sacked;
  pcb->congestion.newly_sacked = 0;
  return bytes;
}

void mesh_segment_acked(struct tcp_pcb *pcb, const struct tcp_seg *seg) {
  if (seg->flags & TF_SEG_SACKED) {
    pcb->congestion.sacked -= TCP_TCPLEN(seg);
  }
}

void mesh_sent_new(struct tcp_pcb *pcb, u32_t end) {
  struct mesh_congestion *state = &pcb->congestion;
  if (!state->timing) {
    state->timing = 1;
    state->timed_end = end;
    state->timed_at = mesh_microseconds();
    state->timed_delivered = delivered(pcb);
  }
}

static u32_t rate_of(const struct mesh_congestion *state) {
  return LWIP_MAX(state->highest_rate, state->highest_rate_before);
}

static u32_t shortest_of(const struct mesh_congestion *state) {
  if (state->shortest == 0 || state->shortest_before == 0) {
    return LWIP_MAX(state->shortest, state->shortest_before);
  }
  return LWIP_MIN(state->shortest, state->shortest_before);
}

/*
 * The window for what the path was seen to deliver, and some more, which shows whether it delivers
 * more by now (BBR: draft-ietf-ccwg-bbr). While each round trip delivers more than the last, twice
 * as much. 0 if that is unknown, or if the path was full.
 */
static tcpwnd_size_t seen_window(const struct tcp_pcb *pcb) {
  const struct mesh_congestion *state = &pcb->congestion;
  u64_t window;
  if (state->was_full) {
    return 0;
  }
  window = (u64_t)rate_of(state) * (shortest_of(state) + LATE_US) / 1000000U;
  window = state->plateau_rounds < PLATEAU_ROUNDS ? window * 2 : window / 4 * 5;
  return (tcpwnd_size_t)LWIP_MIN(window, (u64_t)TCP_SND_BUF);
}

/* Whether what was measured has arrived, as an acknowledgement or SACK says. */
static int has_arrived(const struct tcp_pcb *pcb) {
  const struct mesh_congestion *state = &pcb->congestion;
  return TCP_SEQ_GEQ(pcb->lastack, state->timed_end) ||
         (state->sacked > 0 && TCP_SEQ_GEQ(state->highest_sacked, state->timed_end));
}

/*
 * Judges the losses once in so many segments, or as soon as there are many: by chance a path loses
 * a few packets, a full one loses more.
 */
static void judge_losses(struct tcp_pcb *pcb, u32_t now) {
  struct mesh_congestion *state = &pcb->congestion;
  u32_t sent = delivered(pcb) - state->judged_delivered;
  int are_many = state->resent > MANY_LOST * (u32_t)pcb->mss && state->resent > sent / MANY_LOST;
  if (!are_many && sent < JUDGED_SEGMENTS * (u32_t)pcb->mss) {
    return;
  }
  if (are_many || state->resent > sent / MOST_LOSS_DIVISOR) {
    state->was_full = 1;
    state->full_at = now;
  } else if (state->was_full && now - state->full_at > PERIOD_US) {
    state->was_full = 0;
  }
  state->judged_delivered = delivered(pcb);
  state->resent = 0;
}

/* Ends a measurement when what it measures has arrived. */
static void measure(struct tcp_pcb *pcb) {
  struct mesh_congestion *state = &pcb->congestion;
  u32_t now = mesh_microseconds();
  u32_t elapsed = now - state->timed_at;
  u32_t rate;
  if (!state->timing || !has_arrived(pcb)) {
    return;
  }
  state->timing = 0;
  elapsed = elapsed == 0 ? 1 : elapsed;
  state->last = elapsed;
  rate = (u32_t)LWIP_MIN((u64_t)(delivered(pcb) - state->timed_delivered) * 1000000U / elapsed,
                         0xffffffffU);
  if (now - state->shortest_began > PERIOD_US) {
    state->shortest_began = now;
    state->shortest_before = state->shortest;
    state->shortest = 0;
  }
  if (state->shortest == 0 || elapsed < state->shortest) {
    state->shortest = elapsed;
  }
  if (++state->rates > PERIOD_ROUNDS) {
    state->rates = 1;
    state->highest_rate_before = state->highest_rate;
    state->highest_rate = 0;
  }
  state->highest_rate = LWIP_MAX(state->highest_rate, rate);
  judge_losses(pcb, now);
  /* If nothing waits to be sent, the program was slower than the path. */
  if (state->plateau_rounds < PLATEAU_ROUNDS && pcb->unsent != NULL) {
    if (rate / 5 * 4 >= state->plateau_rate) {
      state->plateau_rate = rate;
      state->plateau_rounds = 0;
    } else if (++state->plateau_rounds == PLATEAU_ROUNDS && pcb->cwnd < pcb->ssthresh) {
      /* Slow start has filled the path. */
      pcb->ssthresh = LWIP_MIN(pcb->cwnd, LWIP_MAX(seen_window(pcb), 2U * pcb->mss));
      pcb->cwnd = pcb->ssthresh;
    }
  }
}

/* The window after a loss. */
static tcpwnd_size_t window_after_loss(const struct tcp_pcb *pcb) {
  tcpwnd_size_t flight = LWIP_MIN(LWIP_MIN(pcb->cwnd, pcb->snd_wnd), pcb->snd_nxt - pcb->lastack);
  const struct mesh_congestion *state = &pcb->congestion;
  tcpwnd_size_t window =
      (tcpwnd_size_t)LWIP_MIN((u64_t)rate_of(state) * shortest_of(state) / 1000000U, flight);
  window = LWIP_MAX(window, flight / 2);
  /* A loss by chance takes nothing from what the path was seen to deliver. */
  window = LWIP_MAX(window, LWIP_MIN(seen_window(pcb), flight));
  return LWIP_MAX(window, 2U * pcb->mss);
}

/*
 * Sends lost data again, as far as the window allows, and permits new data if there is room left.
 * lwIP counts everything since pcb->lastack as in flight. So pcb->cwnd also includes what is lost
 * or has already arrived.
 */
static void repair(struct tcp_pcb *pcb, int first) {
  struct mesh_congestion *state = &pcb->congestion;
  int has_sack = (pcb->flags & TF_SACK) != 0;
  u32_t flight = pcb->snd_nxt - pcb->lastack;
  u32_t gone = has_sack ? state->sacked : (u32_t)pcb->dupacks * pcb->mss;
  u32_t later = gone;
  struct tcp_seg *seg;
  for (seg = pcb->unacked; seg != NULL; seg = seg->next) {
    int is_lost;
    if (seg->flags & TF_SEG_SACKED) {
      later -= TCP_TCPLEN(seg);
      continue;
    }
    if (later == 0 && seg != pcb->unacked) {
      break;
    }
    if (seg->flags & TF_SEG_RESENT) {
      is_lost = has_sack && state->sacked > 0 &&
                (mesh_microseconds() - seg->resent_us > 2U * state->last + LATE_US ||
                 TCP_SEQ_GEQ(state->highest_sacked, seg->resent_at + LATER_SEGMENTS * pcb->mss));
    } else {
      is_lost = seg == pcb->unacked || (has_sack && later >= (u32_t)LATER_SEGMENTS * pcb->mss);
    }
    if (!is_lost) {
      continue;
    }
    gone += TCP_TCPLEN(seg);
    if (first || flight - LWIP_MIN(gone, flight) + TCP_TCPLEN(seg) <= pcb->ssthresh) {
      first = 0;
      if (mesh_resend(pcb, seg) != ERR_OK) {
        break;
      }
      state->resent += TCP_TCPLEN(seg);
      seg->flags |= TF_SEG_RESENT;
      seg->resent_at = pcb->snd_nxt;
      seg->resent_us = mesh_microseconds();
      gone -= TCP_TCPLEN(seg);
    }
  }
  pcb->cwnd = pcb->ssthresh + LWIP_MIN(gone, flight);
}

/* During recovery, ssthresh is the window. */
static void grow_in_recovery(struct tcp_pcb *pcb, u32_t arrived) {
  tcpwnd_size_t window = seen_window(pcb);
  if (pcb->ssthresh < window) {
    pcb->ssthresh = LWIP_MIN(pcb->ssthresh + arrived, window);
  }
}

void mesh_duplicate_ack(struct tcp_pcb *pcb) {
  struct mesh_congestion *state = &pcb->congestion;
  u32_t arrived = newly_delivered(pcb);
  int is_lost = pcb->dupacks >= LATER_SEGMENTS ||
                ((pcb->flags & TF_SACK) && state->sacked >= LATER_SEGMENTS * (u32_t)pcb->mss);
  measure(pcb);
  if (pcb->flags & TF_INFR) {
    grow_in_recovery(pcb, arrived);
    repair(pcb, 0);
    return;
  }
  /*
   * Segments sent before a time-out may still arrive, so their duplicates do not show a new loss.
   */
  if (!is_lost || pcb->unacked == NULL || (pcb->flags & TF_RTO) ||
      (state->recovered_once && TCP_SEQ_LT(pcb->lastack, state->recover))) {
    return;
  }
  pcb->ssthresh = window_after_loss(pcb);
  state->recover = pcb->snd_nxt;
  state->recovered_once = 1;
  pcb->rttest = 0;
  pcb->rtime = 0;
  tcp_set_flags(pcb, TF_INFR);
  repair(pcb, 1);
}

/* The window grows only while it is used fully. */
static void grow(struct tcp_pcb *pcb, u32_t acked) {
  u32_t flight = pcb->snd_nxt - pcb->lastack + acked;
  if (flight + 2U * pcb->mss < pcb->cwnd || pcb->cwnd >= TCP_SND_BUF) {
    return;
  }
  if (pcb->cwnd < LWIP_MAX(pcb->ssthresh, seen_window(pcb))) {
    /* Count bytes, not acknowledgements: the other side may send one for many segments. */
    pcb->cwnd += LWIP_MIN(acked, pcb->cwnd);
  } else {
    pcb->bytes_acked += acked;
    if (pcb->bytes_acked >= pcb->cwnd) {
      pcb->bytes_acked -= pcb->cwnd;
      pcb->cwnd += pcb->mss;
    }
  }
}

void mesh_acknowledged(struct tcp_pcb *pcb, u32_t acked) {
  u32_t arrived = newly_delivered(pcb);
  measure(pcb);
  if (!(pcb->flags & TF_INFR)) {
    grow(pcb, acked);
  } else if (TCP_SEQ_LT(pcb->lastack, pcb->congestion.recover)) {
    grow_in_recovery(pcb, arrived);
    repair(pcb, 1);
  } else {
    tcp_clear_flags(pcb, TF_INFR);
    pcb->cwnd = pcb->ssthresh;
    pcb->bytes_acked = 0;
  }
}

void mesh_timed_out(struct tcp_pcb *pcb) {
  struct mesh_congestion *state = &pcb->congestion;
  struct tcp_seg *seg;
  /* If the same data times out repeatedly, only the first time-out sets ssthresh (RFC 5681). */
  if (pcb->nrtx == 0) {
    pcb->ssthresh = window_after_loss(pcb);
  }
  state->recover = pcb->snd_nxt;
  state->recovered_once = 1;
  state->timing = 0;
  state->sacked = 0;
  state->counted = delivered(pcb);
  state->judged_delivered = state->counted;
  tcp_clear_flags(pcb, TF_INFR);
  for (seg = pcb->unsent; seg != NULL; seg = seg->next) {
    seg->flags &= (u8_t) ~(TF_SEG_SACKED | TF_SEG_RESENT);
  }
}

void mesh_repair_late(void) {
  struct tcp_pcb *pcb;
  for (pcb = tcp_active_pcbs; pcb != NULL; pcb = pcb->next) {
    if ((pcb->flags & TF_INFR) && pcb->unacked != NULL) {
      repair(pcb, 0);
    }
  }
}

u32_t mesh_room(const struct tcp_pcb *pcb) {
  u32_t queued = TCP_SND_BUF - pcb->snd_buf;
  /* A SYN and a FIN have numbers, but no room. */
  u32_t unsent = queued - LWIP_MIN(queued, pcb->snd_nxt - pcb->lastack);
  return unsent < MOST_UNSENT ? LWIP_MIN(MOST_UNSENT - unsent, pcb->snd_buf) : 0;
}
