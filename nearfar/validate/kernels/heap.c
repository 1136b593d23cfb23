/* A 4-way heap as priority queue: removes the first event and adds a later one, like simulators. */
#include "kernel.h"

const uint64_t kernel_operations = 200000;
const double kernel_accesses = 8;

enum { ways = 4 };

struct event {
  uint64_t time;
  uint64_t what;
};

static uint64_t n, now;
static struct event* heap;

static uint64_t later(uint64_t operation) { return kernel_mix(operation) >> 20; }

static void sift_down(uint64_t at, struct event event) {
  for (;;) {
    uint64_t least = ways * at + 1;
    if (least >= n) break;
    const uint64_t end = least + ways < n ? least + ways : n;
    for (uint64_t child = least + 1; child < end; child++)
      if (heap[child].time < heap[least].time) least = child;
    if (heap[least].time >= event.time) break;
    heap[at] = heap[least];
    at = least;
  }
  heap[at] = event;
}

uint64_t kernel_perform(uint64_t first, uint64_t count) {
  uint64_t out_of_order = 0;
  for (uint64_t i = first; i < first + count; i++) {
    const struct event event = heap[0];
    out_of_order += event.time < now;
    now = event.time;
    sift_down(0, (struct event){now + later(i), event.what});
  }
  return out_of_order;
}

/* Starts with the remaining waits of a queue in steady state: if new waits are uniform between 0
 * and the longest, a remaining wait is distributed as the smaller of two such waits. */
void kernel_prepare(uint64_t bytes) {
  n = bytes / sizeof *heap;
  heap = kernel_take(n * sizeof *heap);
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t one = later(~(2 * i)), other = later(~(2 * i + 1));
    heap[i] = (struct event){one < other ? one : other, i};
  }
  for (uint64_t at = n; at > 0; at--) sift_down(at - 1, heap[at - 1]);
}

/* Times never fall, and the nodes down one path from the top are in order. */
uint64_t kernel_expected(uint64_t first, uint64_t count) {
  uint64_t wrong = 0;
  for (uint64_t leaf = 0; leaf < 1000; leaf++)
    for (uint64_t at = kernel_below(kernel_mix(first + count + leaf), n); at > 0;
         at = (at - 1) / ways)
      wrong += heap[(at - 1) / ways].time > heap[at].time;
  return wrong;
}
