/* An append-only log in persistent memory, as simple as possible: shared by log_*.c.
 *
 * The head counts entries and bytes; both are in one word, so that they can change together.
 * A pool of zeros is an empty log. */
#ifndef LOG_H
#define LOG_H

#include <libpmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define LOG_ENTRIES 256
#define ENTRY_WORDS 8

struct entry {
  uint64_t words[ENTRY_WORDS]; /* entry i holds i+1, eight times: a line that is never zero */
};
union head {
  uint64_t whole;
  struct {
    volatile uint32_t length; /* entries */
    volatile uint32_t bytes;  /* in them */
  } half;
};
struct log {
  union head head;
  char padding[64 - sizeof(union head)];
  struct entry entries[LOG_ENTRIES];
};

static inline union head head_of(uint32_t length) {
  union head head;
  head.half.length = length;
  head.half.bytes = length * (uint32_t)sizeof(struct entry);
  return head;
}

static inline void fill(struct entry* entry, uint64_t value) {
  for (int i = 0; i < ENTRY_WORDS; ++i) entry->words[i] = value;
}

void append(struct log* log); /* differs by program */

int main(int count, char** words) {
  if (count != 3) {
    fprintf(stderr, "usage: %s POOL ENTRIES\n", words[0]);
    return 2;
  }
  size_t bytes = 0;
  struct log* log = pmem_map_file(words[1], sizeof *log, PMEM_FILE_CREATE, 0600, &bytes, NULL);
  if (log == NULL) {
    perror(words[1]);
    return 1;
  }
  for (long i = 0, n = atol(words[2]); i < n && i < LOG_ENTRIES; ++i) append(log);
  pmem_unmap(log, bytes);
  return 0;
}

#endif
