/* A log that two threads append to: shared by tally_*.c. `PROGRAM POOL` appends;
 * `PROGRAM POOL check` checks that each counted entry is there, once. */
#ifndef TALLY_H
#define TALLY_H

#include <libpmem.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#define TALLY_ENTRIES 8

struct tally {
  uint64_t length;
  uint64_t padding[7];
  struct {
    uint64_t value; /* no two are the same */
    uint64_t padding[7];
  } entries[TALLY_ENTRIES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void append(struct tally* tally, uint64_t value); /* differs by program */

static struct tally* tally;

static void* work(void* first) {
  for (uint64_t i = 0; i < TALLY_ENTRIES / 2; ++i) append(tally, (uintptr_t)first + i);
  return NULL;
}

static int check(void) {
  uint64_t seen = 0;
  for (uint64_t i = 0; i < tally->length; ++i) {
    const uint64_t value = i < TALLY_ENTRIES ? tally->entries[i].value : 0;
    if (value == 0 || (seen & 1u << value) != 0) {
      printf("entry %d of %d is %s\n", (int)i, (int)tally->length,
             value == 0 ? "absent" : "double");
      return 1;
    }
    seen |= 1u << value;
  }
  return 0;
}

int main(int count, char** words) {
  size_t bytes = 0;
  if (count < 2) return 2;
  tally = pmem_map_file(words[1], sizeof *tally, PMEM_FILE_CREATE, 0600, &bytes, NULL);
  if (tally == NULL) return 2;
  if (count > 2) return check();
  pthread_t threads[2];
  for (uintptr_t i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, (void*)(i * 16 + 1));
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  pmem_unmap(tally, bytes);
  return 0;
}

#endif
