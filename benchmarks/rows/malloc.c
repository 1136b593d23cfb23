/* malloc/free pairs as a program makes them: each pair frees one of many live blocks, chosen at
 * random, and like a program it writes to a block it got and reads one it gives back. Prints CPU ns
 * per pair. With -DHOOKED it registers as an instrumented program does, and its blocks are
 * attributed. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef HOOKED
#include "profile/abi.h"
static struct nf_module module = {NF_ABI_VERSION, 6, 0, 0, 0, "by hand"};
__attribute__((constructor)) static void registered(void) { __nf_register(&module); }
#endif

static double cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Two callers, so that there is more than one site. */
__attribute__((noinline)) static void* from_here(size_t size) { return malloc(size); }
__attribute__((noinline)) static void* from_there(size_t size) { return malloc(size); }

/* xorshift64: which block to free next, and its size, without the cost of rand(). */
static unsigned long dice = 88172645463325252ull;
static unsigned long roll(void) {
  dice ^= dice << 13;
  dice ^= dice >> 7;
  return dice ^= dice << 17;
}

int main(int argc, char** argv) {
  const size_t least = argc > 1 ? strtoul(argv[1], 0, 10) : 16;
  const size_t most = argc > 2 ? strtoul(argv[2], 0, 10) : 143;
  const size_t pairs = argc > 3 ? strtoul(argv[3], 0, 10) : 1000000;
  /* Half a MiB of live blocks, which fits a second-level cache: what is measured is not how many
   * misses a core overlaps. */
  const size_t live = (512u << 10) / ((least + most) / 2 + 16);
  void** blocks = calloc(live, sizeof *blocks);
  double begun = 0;
  long sum = 0;
  for (size_t i = 0; i < pairs + live; ++i) {
    if (i == live) begun = cpu_ns();
    const unsigned long random = roll();
    const size_t slot = i < live ? i : random % live;
    const size_t size = least + (random >> 32) % (most - least + 1);
    long* old = blocks[slot];
    if (old) sum += *old;
    free(old);
    long* made = i & 1 ? from_here(size) : from_there(size);
    *made = (long)i;
    blocks[slot] = made;
  }
  printf("%.3f\n", (cpu_ns() - begun) / (double)pairs);
  return sum == 1;
}
