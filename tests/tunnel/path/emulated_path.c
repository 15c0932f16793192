/*
 * An internet path: receives datagrams at one socket and forwards them from another, with delay,
 * loss, reordering, duplication, and a rate with a queue. All channels share the rate and the queue
 * of a direction as a bottleneck. emulated_path.ts compiles and starts this program.
 *
 *   emulated_path <delay_us> <loss_ppm> <reorder_ppm> <duplicate_ppm> <kbits> <queue_bytes> <seed>
 *                 (<left port> <right port> <right host's address> <its port>)...
 *
 * A left host sends to the left port, and gets answers from there. The right host sees the right
 * port. Writes a line when it listens, and a line with counters for every line of its input. Ends
 * at the end of its input.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST_CHANNELS = 8, DATAGRAM_BYTES = 2048, BATCH = 64, BUFFER_BYTES = 8 << 20 };
enum { TO_RIGHT, TO_LEFT };

/* How much later than in order a reordered datagram arrives. */
enum { LEAST_LATE_NS = 2000000, MORE_LATE_NS = 3000000 };

struct channel {
  int sockets[2]; /* by the direction of incoming datagrams */
  struct sockaddr_in hosts[2];
};

struct packet {
  int64_t at;
  uint64_t order;
  struct channel *channel;
  int direction;
  size_t length;
  uint8_t bytes[DATAGRAM_BYTES];
};

static struct {
  int64_t delay_ns;
  uint32_t loss, reorder, duplicate;
  int64_t kbits, queue_bytes;
} options;

static struct channel channels[MOST_CHANNELS];
static int channel_count;
static int64_t free_at[2];
static uint64_t sent[2], dropped[2];

/* Packets in flight: a heap, the next one to deliver first. */
static struct packet **heap;
static size_t heap_size, heap_room;
static uint64_t next_order;

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static uint32_t random_state;

/* xorshift32 */
static uint32_t next_random(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 17;
  random_state ^= random_state << 5;
  return random_state;
}

static int happens(uint32_t ppm) {
  return ppm > 0 && next_random() % 1000000 < ppm;
}

static int is_before(const struct packet *one, const struct packet *other) {
  return one->at != other->at ? one->at < other->at : one->order < other->order;
}

static void push(struct packet *packet) {
  size_t at = heap_size++;
  if (heap_size > heap_room) {
    heap_room = heap_room == 0 ? 1024 : 2 * heap_room;
    heap = realloc(heap, heap_room * sizeof(*heap));
  }
  for (; at > 0 && is_before(packet, heap[(at - 1) / 2]); at = (at - 1) / 2) {
    heap[at] = heap[(at - 1) / 2];
  }
  heap[at] = packet;
}

static struct packet *pop(void) {
  struct packet *first = heap[0], *last = heap[--heap_size];
  size_t at = 0, child;
  while ((child = 2 * at + 1) < heap_size) {
    if (child + 1 < heap_size && is_before(heap[child + 1], heap[child])) {
      child++;
    }
    if (!is_before(heap[child], last)) {
      break;
    }
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = last;
  return first;
}

static void forward(struct channel *channel, int direction, const uint8_t *bytes, size_t length) {
  const struct sockaddr_in *host = &channel->hosts[!direction];
  if (host->sin_port != 0) {
    sendto(channel->sockets[!direction], bytes, length, MSG_DONTWAIT,
           (const struct sockaddr *)host, sizeof(*host));
  }
}

static void enqueue(struct channel *channel, int direction, const uint8_t *bytes, size_t length) {
  int64_t now = now_ns();
  int64_t leaves = now;
  struct packet *packet;
  if (options.kbits > 0) {
    int64_t waits = free_at[direction] > now ? free_at[direction] - now : 0;
    if (waits * options.kbits / 8000000 + (int64_t)length > options.queue_bytes) {
      dropped[direction]++;
      return;
    }
    leaves = free_at[direction] = now + waits + (int64_t)length * 8000000 / options.kbits;
  }
  if (options.delay_ns == 0 && options.kbits == 0 && options.reorder == 0) {
    forward(channel, direction, bytes, length);
    return;
  }
  packet = malloc(sizeof(*packet));
  packet->at = leaves + options.delay_ns;
  if (happens(options.reorder)) {
    packet->at += LEAST_LATE_NS + next_random() % MORE_LATE_NS;
  }
  packet->order = next_order++;
  packet->channel = channel;
  packet->direction = direction;
  packet->length = length;
  memcpy(packet->bytes, bytes, length);
  push(packet);
}

static void take(struct channel *channel, int direction) {
  static uint8_t bytes[BATCH][DATAGRAM_BYTES];
  static struct sockaddr_in from[BATCH];
  struct mmsghdr messages[BATCH];
  struct iovec parts[BATCH];
  int count, index;
  memset(messages, 0, sizeof(messages));
  for (index = 0; index < BATCH; index++) {
    parts[index] = (struct iovec){bytes[index], DATAGRAM_BYTES};
    messages[index].msg_hdr = (struct msghdr){
        .msg_name = &from[index],
        .msg_namelen = sizeof(from[index]),
        .msg_iov = &parts[index],
        .msg_iovlen = 1,
    };
  }
  count = recvmmsg(channel->sockets[direction], messages, BATCH, MSG_DONTWAIT, NULL);
  for (index = 0; index < count; index++) {
    sent[direction]++;
    channel->hosts[direction] = from[index];
    if (happens(options.loss)) {
      dropped[direction]++;
      continue;
    }
    enqueue(channel, direction, bytes[index], messages[index].msg_len);
    if (happens(options.duplicate)) {
      enqueue(channel, direction, bytes[index], messages[index].msg_len);
    }
  }
}

static int open_socket(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  int size = BUFFER_BYTES;
  int descriptor = socket(AF_INET, SOCK_DGRAM, 0);
  setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
  setsockopt(descriptor, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
  if (bind(descriptor, (struct sockaddr *)&address, sizeof(address)) != 0) {
    perror("bind");
    exit(1);
  }
  return descriptor;
}

static void read_arguments(int count, char **arguments) {
  if (count < 12 || (count - 8) % 4 != 0 || (count - 8) / 4 > MOST_CHANNELS) {
    fprintf(stderr, "see the head of emulated_path.c\n");
    exit(2);
  }
  options.delay_ns = atoll(arguments[1]) * 1000;
  options.loss = (uint32_t)atol(arguments[2]);
  options.reorder = (uint32_t)atol(arguments[3]);
  options.duplicate = (uint32_t)atol(arguments[4]);
  options.kbits = atoll(arguments[5]);
  options.queue_bytes = atoll(arguments[6]);
  random_state = (uint32_t)atol(arguments[7]) * 2654435761u + 1;
  for (arguments += 8; *arguments != NULL; arguments += 4) {
    struct channel *channel = &channels[channel_count++];
    struct sockaddr_in *host = &channel->hosts[TO_LEFT];
    channel->sockets[TO_RIGHT] = open_socket(atoi(arguments[0]));
    channel->sockets[TO_LEFT] = open_socket(atoi(arguments[1]));
    host->sin_family = AF_INET;
    host->sin_port = htons((uint16_t)atoi(arguments[3]));
    inet_pton(AF_INET, arguments[2], &host->sin_addr);
  }
}

/* Answers a line of the input. */
static void report(void) {
  char line[64];
  if (read(STDIN_FILENO, line, sizeof(line)) <= 0) {
    exit(0);
  }
  printf("{\"sent\":[%lu,%lu],\"dropped\":[%lu,%lu]}\n", sent[TO_RIGHT], sent[TO_LEFT],
         dropped[TO_RIGHT], dropped[TO_LEFT]);
}

int main(int count, char **arguments) {
  struct pollfd files[1 + 2 * MOST_CHANNELS];
  int index;
  read_arguments(count, arguments);
  setvbuf(stdout, NULL, _IOLBF, 0);
  /* Set the timer slack to 1 us. The default is 50 us. */
  prctl(PR_SET_TIMERSLACK, 1000);
  printf("{}\n");
  files[0] = (struct pollfd){STDIN_FILENO, POLLIN, 0};
  for (index = 0; index < 2 * channel_count; index++) {
    files[1 + index] = (struct pollfd){channels[index / 2].sockets[index % 2], POLLIN, 0};
  }
  for (;;) {
    int64_t wait = heap_size == 0 ? 1000000000 : heap[0]->at - now_ns();
    struct timespec time = {wait > 0 ? wait / 1000000000 : 0, wait > 0 ? wait % 1000000000 : 0};
    if (ppoll(files, (nfds_t)(1 + 2 * channel_count), &time, NULL) > 0) {
      for (index = 0; index < 2 * channel_count; index++) {
        if (files[1 + index].revents != 0) {
          take(&channels[index / 2], index % 2);
        }
      }
      if (files[0].revents != 0) {
        report();
      }
    }
    while (heap_size > 0 && heap[0]->at <= now_ns()) {
      struct packet *packet = pop();
      forward(packet->channel, packet->direction, packet->bytes, packet->length);
      free(packet);
    }
  }
}
