/* Programs that treat their pool in odd ways: crash_odd POOL WAY; `crash_odd POOL check` judges.
 *
 * All of them set word 8 and make it durable, then word 0, which says that word 8 is there. The
 * pool has a word a line. */
#define _GNU_SOURCE
#include <emmintrin.h>
#include <fcntl.h>
#include <libpmem.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const char* own;
static const char* path;
static volatile uint64_t* words;
static int file;
static size_t size = 1 << 16;

static void* map(void* where, int flags) {
  void* made = mmap(where, size, PROT_READ | PROT_WRITE, MAP_SHARED | flags, file, 0);
  if (made == MAP_FAILED) exit(7);
  return made;
}
static void set(volatile uint64_t* word, uint64_t value) {
  *word = value;
  pmem_persist((void*)word, 8);
}
static void both(void) {
  set(&words[8], 1);
  set(&words[0], 1);
}

static void plain(void) { both(); }
static void ends_in_the_middle(void) {
  both();
  words[16] = 1;
  _exit(0);
}
static void crashes(void) {
  both();
  *(volatile char*)8 = 1;
}
static void never_flushes(void) {
  words[8] = 1;
  words[0] = 1;
}
static void maps_twice(void) {
  volatile uint64_t* other = map(NULL, 0);
  set(&other[8], 1);
  set(&words[0], 1);
  if (words[8] != 1) exit(8);
}
static void maps_elsewhere(void) {
  munmap((void*)words, size);
  words = map((char*)words + (1 << 24), MAP_FIXED);
  both();
}
static void remaps(void) {
  if (ftruncate(file, 2 * (off_t)size) != 0) exit(7);
  words = mremap((void*)words, size, 2 * size, MREMAP_MAYMOVE);
  size *= 2;
  both();
}
static void writes(void) {
  const uint64_t one = 1;
  if (pwrite(file, &one, 8, 64) != 8 || fsync(file) != 0) exit(7);
  set(&words[0], 1);
}
static void writes_without_fsync(void) {
  const uint64_t one = 1;
  if (pwrite(file, &one, 8, 64) != 8) exit(7);
  set(&words[0], 1);
}
static void forks(void) {
  if (fork() == 0) {
    set(&words[8], 1);
    _exit(0);
  }
  wait(NULL);
  set(&words[0], 1);
}
static void forks_without_flush(void) {
  if (fork() == 0) {
    words[8] = 1;
    _exit(0);
  }
  wait(NULL);
  set(&words[0], 1);
}
static void execs(void) {
  if (fork() == 0) {
    execl(own, own, path, "plain", (char*)NULL);
    _exit(9);
  }
  wait(NULL);
  set(&words[16], 1);
}
static void reads_into(void) {
  const int source = open("/dev/zero", O_RDONLY);
  both();
  if (read(source, (void*)&words[16], 4096) != 4096) exit(7);
  pmem_persist((void*)&words[16], 4096);
}

/* A thread's fence is not for what another flushed. */
static int ready[2];
static void* flushes_only(void* unused) {
  (void)unused;
  words[8] = 1;
  pmem_flush((void*)&words[8], 8);
  if (write(ready[1], "x", 1) != 1) exit(7); /* waits in a way that no lock shows */
  return NULL;
}
static void fences_for_another(void) {
  char byte;
  pthread_t thread;
  if (pipe(ready) != 0 || pthread_create(&thread, NULL, flushes_only, NULL) != 0) exit(7);
  if (read(ready[0], &byte, 1) != 1) exit(7);
  pmem_drain();
  set(&words[0], 1);
  pthread_join(thread, NULL);
}

static void reads_by_stdio(void) {
  FILE* source = fopen("/dev/zero", "rb");
  both();
  words[16] = 7;
  /* Larger than its buffer, so that the kernel stores straight into the pool. */
  if (source == NULL || fread((void*)&words[16], 1, 16384, source) != 16384 || words[16] != 0)
    exit(7);
  pmem_persist((void*)&words[16], 16384);
}
static void* blocks_all(void* unused) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  both();
  return unused;
}
static void blocks_signals(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, blocks_all, NULL) != 0) exit(7);
  pthread_join(thread, NULL);
}
static void writes_after_unmapping(void) {
  const uint64_t one = 1;
  both();
  munmap((void*)words, size);
  if (pwrite(file, &one, 8, 128) != 8) exit(7);
}
/* 16 bytes by one instruction: words 10 and 11, which must be the same. */
static void stores_wide(void) {
  _mm_store_si128((__m128i*)&words[10], _mm_set1_epi64x(1));
  pmem_persist((void*)&words[10], 16);
}
static void swaps_wide(void) {
  char worked;
  __asm__ volatile("lock cmpxchg16b %0; sete %1"
                   : "+m"(*(__int128*)&words[10]), "=q"(worked)
                   : "a"(0L), "d"(0L), "b"(1L), "c"(1L)
                   : "cc", "memory");
  if (!worked) exit(7);
  pmem_persist((void*)&words[10], 16);
}

static int check(void) {
  FILE* pool = fopen(path, "rb");
  uint64_t lines[16];
  if (pool == NULL || fread(lines, sizeof lines, 1, pool) != 1) return 2;
  if (lines[0] > lines[8]) {
    printf("word 8 is not there\n");
    return 1;
  }
  if (lines[10] == lines[11]) return 0;
  printf("words 10 and 11 differ\n");
  return 1;
}

int main(int count, char** arguments) {
  const struct {
    const char* name;
    void (*run)(void);
  } ways[] = {{"plain", plain},
              {"large", plain},
              {"ends-in-the-middle", ends_in_the_middle},
              {"crashes", crashes},
              {"never-flushes", never_flushes},
              {"maps-twice", maps_twice},
              {"maps-elsewhere", maps_elsewhere},
              {"remaps", remaps},
              {"writes", writes},
              {"writes-without-fsync", writes_without_fsync},
              {"forks", forks},
              {"forks-without-flush", forks_without_flush},
              {"execs", execs},
              {"reads-into", reads_into},
              {"reads-by-stdio", reads_by_stdio},
              {"blocks-signals", blocks_signals},
              {"writes-after-unmapping", writes_after_unmapping},
              {"stores-wide", stores_wide},
              {"swaps-wide", swaps_wide},
              {"fences-for-another", fences_for_another}};
  if (count != 3) return 2;
  own = arguments[0];
  path = arguments[1];
  if (strcmp(arguments[2], "check") == 0) return check();
  if (strcmp(arguments[2], "large") == 0) size = (size_t)3 << 30;
  file = open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, (off_t)size) != 0) return 7;
  words = map(NULL, 0);
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; ++i) {
    if (strcmp(ways[i].name, arguments[2]) != 0) continue;
    ways[i].run();
    return 0;
  }
  return 2;
}
