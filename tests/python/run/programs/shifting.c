// An array and, if its path is given, a shared file, of which other parts become hot. Prints both
// addresses. Each line of its input, "BEGIN SECONDS", has it touch 8 MiB of each from BEGIN MiB on
// until all their pages are on node 0, once at least and for so many seconds at most; then it
// prints how many of them are there.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MIB (1ul << 20)
#define PAGES (8 * MIB / 4096)

__attribute__((noinline)) static char *make_array(void) {
  char *array = malloc(24 * MIB);
  memset(array, 1, 24 * MIB);
  return array;
}

static int on_node_0(char *begin) {
  static void *pages[PAGES];
  static int nodes[PAGES];
  int count = 0;
  for (unsigned long i = 0; i < PAGES; ++i) pages[i] = begin + i * 4096;
  if (syscall(SYS_move_pages, 0, PAGES, pages, NULL, nodes, 0) != 0) return 0;
  for (unsigned long i = 0; i < PAGES; ++i) count += nodes[i] == 0;
  return count;
}

static void touch(volatile char *begin, unsigned long bytes) {
  for (unsigned long i = 0; i < bytes; i += 4096) ++begin[i];
}

int main(int count, char **words) {
  char *parts[2] = {make_array(), NULL};
  if (count > 1) {
    const int file = open(words[1], O_RDWR);
    parts[1] = mmap(NULL, 24 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (parts[1] == MAP_FAILED) return 2;
    touch(parts[1], 24 * MIB);
  }
  // More small pages than a TLB holds: only a walk marks a page as used.
  char *others = mmap(NULL, 32 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(others, 32 * MIB, MADV_NOHUGEPAGE);
  printf("%lu %lu\n", (unsigned long)parts[0], (unsigned long)parts[1]);
  fflush(stdout);
  unsigned long begin;
  long seconds;
  while (scanf("%lu %ld", &begin, &seconds) == 2) {
    const time_t end = time(NULL) + seconds;
    int there;
    do {
      there = 0;
      for (int i = 0; i < 2 && parts[i] != NULL; ++i) {
        touch(parts[i] + begin * MIB, 8 * MIB);
        there += on_node_0(parts[i] + begin * MIB);
      }
      touch(others, 32 * MIB);
    } while (there < (parts[1] == NULL ? 1 : 2) * (int)PAGES && time(NULL) < end);
    printf("%d\n", there);
    fflush(stdout);
  }
  return 0;
}
