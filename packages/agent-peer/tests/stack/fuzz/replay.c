/*
 * lwIP and its glue, compiled for this machine with sanitizers and coverage. Replays a recording
 * (see recording.ts) and prints the number of calls.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tcp_pcb;

uint8_t *scratch_bytes(void);
void start(uint32_t mtu);
void set_address(uint32_t length);
void *input_buffer(uint32_t length);
void input(void);
void flush(void);
uint32_t tick(void);
struct tcp_pcb *connect_to(uint32_t id, uint32_t length, uint32_t port);
struct tcp_pcb *listen_on(uint32_t id, uint32_t port, uint32_t backlog);
void unlisten(struct tcp_pcb *listener);
uint32_t write_bytes(struct tcp_pcb *pcb, uint32_t length);
void taken(struct tcp_pcb *pcb, uint32_t length);
void end(struct tcp_pcb *pcb);
void close_both(struct tcp_pcb *pcb);
void abort_now(struct tcp_pcb *pcb);

enum { CALLS, RANDOMS, CLOCKS, ACCEPTED, PARTS };

static const uint8_t *next[PARTS];
static const uint8_t *ends[PARTS];

/* Control blocks in their order of appearance, and their indexes by the host's ids. */
static struct tcp_pcb **blocks;
static uint32_t block_count, block_room;
static uint32_t *block_of_id;
static uint32_t id_room;

static uint32_t number(int part) {
  uint32_t value = 0;
  if (ends[part] - next[part] >= 4) {
    memcpy(&value, next[part], 4);
    next[part] += 4;
  }
  return value;
}

static void remember(struct tcp_pcb *pcb, uint32_t id) {
  if (block_count == block_room) {
    block_room = block_room == 0 ? 1024 : 2 * block_room;
    blocks = realloc(blocks, block_room * sizeof(*blocks));
  }
  if (id >= id_room) {
    uint32_t room = 2 * id + 1024;
    block_of_id = realloc(block_of_id, room * sizeof(*block_of_id));
    memset(block_of_id + id_room, 0xff, (room - id_room) * sizeof(*block_of_id));
    id_room = room;
  }
  block_of_id[id] = block_count;
  blocks[block_count++] = pcb;
}

/* lwIP has reported that it freed the block with this id. */
static void forget_id(uint32_t id) {
  if (id < id_room && block_of_id[id] < block_count) {
    blocks[block_of_id[id]] = NULL;
  }
}

static struct tcp_pcb *block(void) {
  uint32_t index = number(CALLS);
  return index < block_count ? blocks[index] : NULL;
}

uint32_t mesh_random(void) {
  return number(RANDOMS);
}

double host_clock(void) {
  static double time;
  if (ends[CLOCKS] - next[CLOCKS] >= 8) {
    memcpy(&time, next[CLOCKS], 8);
    next[CLOCKS] += 8;
  }
  return time;
}

void host_output(const uint8_t *packets, uint32_t length) {
  /* Check that the lengths of the packets add up to the length of the batch. */
  uint32_t at = 0;
  while (at < length) {
    at += 2 + (uint32_t)(packets[at] << 8 | packets[at + 1]);
  }
  if (at != length) {
    abort();
  }
}

void host_connected(uint32_t id) {
  (void)id;
}

uint32_t host_accepted(uint32_t listener, struct tcp_pcb *pcb) {
  uint32_t id = number(ACCEPTED);
  (void)listener;
  remember(id == 0 ? NULL : pcb, id);
  return id;
}

void host_received(uint32_t id, const uint8_t *bytes, uint32_t length) {
  static volatile uint8_t sum;
  uint32_t at;
  (void)id;
  for (at = 0; at < length; at++) {
    sum = (uint8_t)(sum + bytes[at]);
  }
}

void host_ended(uint32_t id, uint32_t is_over) {
  if (is_over) {
    forget_id(id);
  }
}

void host_sent(uint32_t id, uint32_t length) {
  (void)id;
  (void)length;
}

void host_failed(uint32_t id, int32_t error) {
  (void)error;
  forget_id(id);
}

static void take(void *target, uint32_t length) {
  uint32_t left = (uint32_t)(ends[CALLS] - next[CALLS]);
  length = length < left ? length : left;
  if (target != NULL) {
    memcpy(target, next[CALLS], length);
  }
  next[CALLS] += length;
}

static void call(uint32_t code) {
  struct tcp_pcb *pcb;
  uint32_t id, length, port;
  switch (code) {
  case 1:
    start(number(CALLS));
    break;
  case 2:
    length = number(CALLS);
    take(scratch_bytes(), length);
    set_address(length);
    break;
  case 3:
    length = number(CALLS);
    take(input_buffer(length), length);
    input();
    break;
  case 4:
    flush();
    break;
  case 5:
    tick();
    break;
  case 6:
    id = number(CALLS);
    length = number(CALLS);
    port = number(CALLS);
    take(scratch_bytes(), length);
    remember(connect_to(id, length, port), id);
    break;
  case 7:
    id = number(CALLS);
    port = number(CALLS);
    remember(listen_on(id, port, number(CALLS)), id);
    break;
  case 9:
    pcb = block();
    length = number(CALLS);
    if (pcb != NULL) {
      write_bytes(pcb, length);
    }
    break;
  case 10:
    pcb = block();
    length = number(CALLS);
    if (pcb != NULL) {
      taken(pcb, length);
    }
    break;
  default:
    pcb = block();
    if (pcb == NULL) {
      break;
    }
    if (code == 11) {
      end(pcb);
      break;
    }
    for (id = 0; id < block_count; id++) {
      blocks[id] = blocks[id] == pcb ? NULL : blocks[id];
    }
    if (code == 8) {
      unlisten(pcb);
    } else if (code == 12) {
      close_both(pcb);
    } else {
      abort_now(pcb);
    }
  }
}

int main(int count, char **arguments) {
  unsigned long calls = 0;
  for (int index = 1; index < count && index < 2; index++) {
    FILE *file = fopen(arguments[index], "rb");
    uint32_t lengths[PARTS];
    int part;
    if (file == NULL || fread(lengths, 4, PARTS, file) != PARTS) {
      perror(arguments[index]);
      return 2;
    }
    for (part = 0; part < PARTS; part++) {
      uint8_t *bytes = malloc(lengths[part] + 1);
      if (fread(bytes, 1, lengths[part], file) != lengths[part]) {
        return 2;
      }
      next[part] = bytes;
      ends[part] = bytes + lengths[part];
    }
    fclose(file);
  }
  while (next[CALLS] < ends[CALLS]) {
    call(number(CALLS));
    calls++;
  }
  printf("%lu\n", calls);
  return 0;
}
