/* A ring of numbered messages with libpmem: shared by ring_*.c. `PROGRAM POOL N` sends N messages
 * and takes each third; `PROGRAM POOL check` checks: messages between tail and head are whole. */
#ifndef RING_H
#define RING_H

#include <libpmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RING_PLACES 4

struct message {
  uint64_t number; /* of message n: n + 1, in both */
  uint64_t padding[7];
  uint64_t copy;
  uint64_t more[7];
};
struct ring {
  uint64_t head; /* messages ever sent */
  uint64_t padding[7];
  uint64_t tail; /* messages ever taken */
  uint64_t more[7];
  struct message places[RING_PLACES];
};

void send(struct ring* ring); /* differs by program */

static inline struct message* place_of(struct ring* ring, uint64_t number) {
  return &ring->places[number % RING_PLACES];
}

static inline void take(struct ring* ring) {
  ring->tail += 1;
  pmem_persist(&ring->tail, sizeof ring->tail);
}

static inline int check(struct ring* ring) {
  if (ring->head - ring->tail > RING_PLACES) return printf("too many messages\n"), 1;
  for (uint64_t n = ring->tail; n < ring->head; ++n) {
    const struct message* message = place_of(ring, n);
    if (message->number == n + 1 && message->copy == n + 1) continue;
    printf("message %d is not whole\n", (int)n);
    return 1;
  }
  return 0;
}

int main(int count, char** words) {
  size_t bytes = 0;
  if (count != 3) return 2;
  struct ring* ring = pmem_map_file(words[1], sizeof *ring, PMEM_FILE_CREATE, 0600, &bytes, NULL);
  if (ring == NULL) return 2;
  if (strcmp(words[2], "check") == 0) return check(ring);
  for (long i = 0, n = atol(words[2]); i < n; ++i) {
    if (ring->head - ring->tail == RING_PLACES) take(ring);
    send(ring);
  }
  pmem_unmap(ring, bytes);
  return 0;
}

#endif
