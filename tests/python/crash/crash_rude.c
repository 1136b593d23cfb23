/* A checker of crash_odd's pools that behaves badly in the way that CRASH_RUDE names: as a function
 * if it is built with -DFUNCTION, else as a program. An image is refused in that way, not plainly.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nearfar/crash.h"

static const char* pool;
static int is(const char* way) {
  const char* wanted = getenv("CRASH_RUDE");
  return wanted != NULL && strcmp(wanted, way) == 0;
}

static uint64_t* map(int* file) {
  *file = open(pool, O_RDWR);
  struct stat status;
  if (*file < 0 || fstat(*file, &status) != 0 || status.st_size != 1 << 16) exit(3);
  uint64_t* words = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, *file, 0);
  if (words == MAP_FAILED) exit(3);
  return words;
}

/* Checks the pool in a mapping for reading, which it then replaces in part, or moves. */
static int look(int moves) {
  const int file = open(pool, O_RDONLY);
  uint64_t* words = mmap(NULL, 1 << 16, PROT_READ, MAP_SHARED, file, 0);
  const int wrong = words[0] > words[8];
  void* const place = mmap(moves ? NULL : words, 4096, PROT_READ,
                           MAP_PRIVATE | MAP_ANONYMOUS | (moves ? 0 : MAP_FIXED), -1, 0);
  if (moves) {
    mremap(words, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    munmap(place, 4096);
    mmap(words, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  }
  munmap(words, 1 << 16);
  close(file);
  return wrong;
}

static int check(const char* path, long done, long begun) {
  (void)done;
  (void)begun;
  pool = path;
  if (is("replaces") || is("moves")) return look(is("moves"));
  int file;
  uint64_t* words = map(&file);
  const int wrong = words[0] > words[8];
  if (words[24] != 0) return 5; /* an earlier check's change is there */
  if (words[0] == 0 && is("differs") && getenv("LD_PRELOAD") != NULL) return 1;
  if (wrong && is("hangs"))
    for (;;) pause();
  if (wrong && is("crashes")) raise(SIGSEGV);
  if (wrong && is("exits")) exit(0); /* a function that ends its process has not returned */
  if (is("changes")) {
    words[24] = 1;
    memset(&words[4096], 0xff, 4096);
  }
  if (is("writes") && pwrite(file, "x", 1, 24 * 8) != 1) return 6;
  if (is("truncates") && ftruncate(file, 100) != 0) return 6;
  if (is("removes")) unlink(pool);
  if (is("reopens")) { /* recovers, closes, and looks again */
    words[32] = 7;
    munmap(words, 1 << 16);
    close(file);
    words = map(&file);
    if (words[32] != 7) return 7;
    words[32] = 0;
  }
  if (is("chatters"))
    for (int i = 0; i < 40000; ++i) puts("a line of some thirty characters");
  if (is("leaves-open")) return wrong;
  if (!is("truncates")) munmap(words, 1 << 16);
  close(file);
  return wrong;
}

#ifdef FUNCTION
NEARFAR_CRASH_CHECKER(check)
int main(void) { return 9; }
#else
int main(int count, char** words) { return count == 2 ? check(words[1], 0, 0) : 2; }
#endif
