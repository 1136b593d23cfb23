// An array and, if its path is given, a shared file, of which other parts become hot. Prints both
// addresses. Each line of its input, "BEGIN SECONDS", has it touch 4 MiB of each from BEGIN MiB on
// until all their pages are on node 0, once at least and for so many seconds at most; then it
// prints how many pages of each 4 MiB, of the array and then of the file, are on node 0 and how
// many on others, as the kernel says.
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
#define RANGE (4 * MIB)
#define PAGES (RANGE / 4096)

__attribute__((noinline)) static char *make_array(void) {
  char *array = malloc(3 * RANGE);
  memset(array, 1, 3 * RANGE);
  return array;
}

// Counts the pages on node 0 and on others.
static void count_pages(char *begin, int counts[2]) {
  static void *pages[PAGES];
  static int nodes[PAGES];
  counts[0] = counts[1] = 0;
  for (unsigned long i = 0; i < PAGES; ++i) pages[i] = begin + i * 4096;
  if (syscall(SYS_move_pages, 0, PAGES, pages, NULL, nodes, 0) != 0) return;
  for (unsigned long i = 0; i < PAGES; ++i) {
    if (nodes[i] >= 0) ++counts[nodes[i] != 0];
  }
}

static void touch(volatile char *begin, unsigned long bytes) {
  for (unsigned long i = 0; i < bytes; i += 4096) ++begin[i];
}

int main(int count, char **words) {
  char *parts[2] = {make_array(), NULL};
  if (count > 1) {
    const int file = open(words[1], O_RDWR);
    parts[1] = mmap(NULL, 3 * RANGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (parts[1] == MAP_FAILED) return 2;
    touch(parts[1], 3 * RANGE);
  }
  // Only a walk marks a page as used. Taking rights away from many pages empties the TLB, also one
  // that is emulated and holds all pages.
  char *others = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(others, MIB, MADV_NOHUGEPAGE);
  printf("%lu %lu\n", (unsigned long)parts[0], (unsigned long)parts[1]);
  fflush(stdout);
  unsigned long begin;
  long seconds;
  while (scanf("%lu %ld", &begin, &seconds) == 2) {
    const time_t end = time(NULL) + seconds;
    int all_near, counts[2];
    do {
      all_near = 1;
      for (int i = 0; i < 2 && parts[i] != NULL; ++i) {
        touch(parts[i] + begin * MIB, RANGE);
        count_pages(parts[i] + begin * MIB, counts);
        all_near &= counts[0] == (int)PAGES;
      }
      touch(others, MIB);
      mprotect(others, MIB, PROT_READ);
      mprotect(others, MIB, PROT_READ | PROT_WRITE);
    } while (!all_near && time(NULL) < end);
    for (int i = 0; i < 6 && parts[i / 3] != NULL; ++i) {
      count_pages(parts[i / 3] + i % 3 * RANGE, counts);
      printf("%d %d ", counts[0], counts[1]);
    }
    printf("\n");
    fflush(stdout);
  }
  return 0;
}
