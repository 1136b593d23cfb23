/* A raw log on libpmem, and its checker as a function: crash_log POOL ENTRIES. */
#include <fcntl.h>
#include <libpmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nearfar/crash.h"

#define ENTRIES 4096
struct log {
  uint64_t length;
  uint64_t padding[7];
  uint64_t entries[ENTRIES][8]; /* entry i holds i + 1 in each word */
};

static int check(const char* pool, long done, long begun) {
  (void)done;
  (void)begun;
  const int file = open(pool, O_RDONLY);
  if (file < 0) return 2;
  const struct log* log = mmap(NULL, sizeof *log, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (log == MAP_FAILED) return 2;
  int wrong = log->length > ENTRIES;
  for (uint64_t i = 0; !wrong && i < log->length; ++i) {
    for (int word = 0; word < 8; ++word) wrong |= log->entries[i][word] != i + 1;
  }
  munmap((void*)log, sizeof *log);
  return wrong;
}
NEARFAR_CRASH_CHECKER(check)

int main(int count, char** words) {
  if (count != 3) return 2;
  size_t bytes = 0;
  struct log* log = pmem_map_file(words[1], sizeof *log, PMEM_FILE_CREATE, 0600, &bytes, NULL);
  if (log == NULL) return 1;
  for (long i = 0, n = atol(words[2]); i < n && i < ENTRIES; ++i) {
    for (int word = 0; word < 8; ++word) {
      ((volatile uint64_t*)log->entries[i])[word] = (uint64_t)i + 1;
    }
    pmem_persist(log->entries[i], sizeof log->entries[i]);
    log->length = (uint64_t)i + 1;
    pmem_persist(&log->length, sizeof log->length);
  }
  pmem_unmap(log, bytes);
  return 0;
}
