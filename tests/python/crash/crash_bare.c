/* A log whose flushes and fences are bare instructions, chosen by macros. Its checker executes none
 * of them, and the recorder steps over them, so that every processor can run it. */
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ENTRIES 8

struct log {
  volatile uint64_t length;
  uint64_t padding[7];
  struct {
    volatile uint64_t value; /* entry i holds i+1 */
    uint64_t padding[7];
  } entries[ENTRIES];
};

#if defined(LOCKED)
#define FENCE __sync_fetch_and_add(&counter, 1)
#elif !defined(FENCE)
#define FENCE _mm_sfence()
#endif
#ifndef FLUSH
#define FLUSH _mm_clflush
#endif

uint64_t counter;

#ifdef MADE
/* mov %rsi,(%rdi); ret: stores that the program makes at run time, and never flushes. */
static void store(volatile uint64_t* to, uint64_t value) {
  static const unsigned char code[] = {0x48, 0x89, 0x37, 0xC3};
  static void (*made)(volatile uint64_t*, uint64_t);
  if (made == NULL) {
    void* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0);
    memcpy(page, code, sizeof code);
    made = (void (*)(volatile uint64_t*, uint64_t))page;
  }
  made(to, value);
}
#else
static void store(volatile uint64_t* to, uint64_t value) {
#ifdef STREAM
  STREAM((long long*)to, (long long)value);
#else
  *to = value;
  FLUSH((void*)to);
#endif
}
#endif

static void append(struct log* log) {
  const uint64_t length = log->length;
  store(&log->entries[length].value, length + 1);
  FENCE;
  log->length = length + 1;
  _mm_clflush((void*)&log->length);
}

static int check(const struct log* log) {
  for (uint64_t i = 0; i < log->length; ++i) {
    if (i < ENTRIES && log->entries[i].value == i + 1) continue;
    printf("an entry is not there\n");
    return 1;
  }
  return 0;
}

int main(int count, char** words) {
  const int file = open(words[1], O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof(struct log)) != 0) return 2;
  struct log* log = mmap(NULL, sizeof *log, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (log == MAP_FAILED) return 2;
  if (count > 2) return check(log);
  for (int i = 0; i < ENTRIES; ++i) append(log);
  return 0;
}
