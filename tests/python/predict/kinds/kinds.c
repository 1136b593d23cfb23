/* Kinds of access that the cycle-level reference's kernels lack, each as a phase of its own; 16 MB
 * of data each, for a simulated cache of 1 MiB. Prints a sum of all answers. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nearfar/mark.h"

typedef uint64_t u64;
enum { words = 1 << 21, visits = 60000, node_words = 8, nodes = words / node_words };

static u64 state = 88172645463325252ull;
static u64 next_random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

static u64* taken(void) {
  u64* memory = malloc((u64)words * sizeof *memory);
  if (memory == NULL) exit(1);
  memset(memory, 1, (u64)words * sizeof *memory);
  return memory;
}

#define KIND __attribute__((noinline)) static u64

KIND sum(const u64* a) {
  u64 found = 0;
  for (u64 i = 0; i < words; i++) found += a[i];
  return found;
}

KIND stencil(const u64* a, u64* b) {
  const u64 row = 4096;
  for (u64 i = row; i < words - row; i++)
    b[i] = a[i - 1] + a[i + 1] + a[i - row] + a[i + row] + 4 * a[i];
  return b[row];
}

KIND partition(const u64* a, u64* low, u64* high) {
  u64 *l = low, *h = high;
  for (u64 i = 0; i < words / 2; i++) {
    if (a[i] & 1)
      *l++ = a[i];
    else
      *h++ = a[i];
  }
  return (u64)(l - low);
}

KIND read_modify_write(u64* a, const u64* index) {
  for (u64 i = 0; i < visits; i++) a[index[i]]++;
  return a[index[0]];
}

KIND scatter(u64* a, const u64* index) {
  for (u64 i = 0; i < visits; i++) a[index[i]] = i;
  return a[index[0]];
}

KIND computed_gather(const u64* a, const u64* index) {
  u64 found = 0;
  for (u64 i = 0; i < visits; i++) {
    u64 value = a[index[i]];
    for (int step = 0; step < 20; step++) value = value * 5 + (value >> 3);
    found ^= value;
  }
  return found;
}

KIND computed_chase(const u64* list) {
  u64 at = 0;
  for (u64 i = 0; i < visits; i++) {
    u64 next = list[at];
    for (int step = 0; step < 20; step++) next = (next ^ i) * 3;
    for (int step = 0; step < 20; step++) next = next * 0xAAAAAAAAAAAAAAABull ^ i;
    at = next;
  }
  return at;
}

KIND branchless_search(const u64* sorted, const u64* wanted) {
  u64 found = 0;
  for (u64 i = 0; i < visits / 20; i++) {
    const u64* at = sorted;
    for (u64 left = words; left > 1; left -= left / 2)
      at += at[left / 2 - 1] < wanted[i] ? left / 2 : 0;
    found += (u64)(at - sorted);
  }
  return found;
}

int main(void) {
  u64 *a = taken(), *b = taken(), *c = taken(), *index = taken(), *list = taken();
  static u64 order[nodes];
  for (u64 i = 0; i < words; i++) index[i] = next_random() % words;
  for (u64 i = 0; i < nodes; i++) order[i] = i;
  for (u64 i = nodes - 1; i > 0; i--) {
    const u64 other = next_random() % (i + 1), kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
  for (u64 i = 0; i < nodes; i++) list[order[i] * node_words] = order[(i + 1) % nodes] * node_words;
  u64 all = 0;
#define RUN(name, call) \
  NEARFAR_BEGIN(name);  \
  all += call;          \
  NEARFAR_END(name, 0)
  RUN("sum", sum(a));
  RUN("stencil", stencil(a, b));
  RUN("partition", partition(index, b, c));
  RUN("read-modify-write", read_modify_write(a, index));
  RUN("scatter", scatter(b, index));
  RUN("computed gather", computed_gather(c, index));
  RUN("computed chase", computed_chase(list));
  for (u64 i = 0; i < words; i++) a[i] = i;
  RUN("branchless search", branchless_search(a, index));
  printf("%llu\n", (unsigned long long)all);
  return 0;
}
