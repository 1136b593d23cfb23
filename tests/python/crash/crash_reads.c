/* A program that stores two numbers and lines that nobody reads, and its checker as a function.
 *
 *   crash_reads POOL MODE   MODE: wrong lets the second number become durable first
 *
 * CRASH_READS names the way in which the checker reads the numbers, CRASH_CALLS a file that gets a
 * byte for each call.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <libpmem.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nearfar/crash.h"

enum { BYTES = 1 << 16, FIRST = 8, SECOND = 24, UNREAD = 40, UNREAD_LINES = 4, ROUNDS = 10 };

static uint64_t* words;
static int file;
static uint64_t read_by_thread;

static void* read_there(void* at) {
  read_by_thread = *(volatile uint64_t*)at;
  return NULL;
}

static uint64_t by_pipe(const uint64_t* at) {
  uint64_t value = 0;
  int ends[2];
  if (pipe(ends) != 0 || write(ends[1], at, 8) != 8 || read(ends[0], &value, 8) != 8) exit(3);
  close(ends[0]);
  close(ends[1]);
  return value;
}

static uint64_t by_file(int index) {
  char path[64];
  uint64_t value = 0;
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  FILE* const stream = fopen(path, "r");
  if (stream == NULL || fseek(stream, index * 8, SEEK_SET) != 0 || fread(&value, 8, 1, stream) != 1)
    exit(3);
  fclose(stream);
  return value;
}

static uint64_t by_child(const uint64_t* at) {
  const pid_t child = fork();
  if (child == 0) _exit((int)*at);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) exit(3);
  return (uint64_t)WEXITSTATUS(status);
}

static uint64_t by_private_mapping(int index) {
  const uint64_t* const other = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE, file, 0);
  if (other == MAP_FAILED) exit(3);
  const uint64_t value = other[index];
  munmap((void*)other, BYTES);
  return value;
}

static uint64_t by_memory_file(const uint64_t* at) {
  uint64_t value = 0;
  const int memory = open("/proc/self/mem", O_RDONLY);
  if (pread(memory, &value, 8, (off_t)(uintptr_t)at) != 8) exit(3);
  close(memory);
  return value;
}

/* A mapping that stays from check to check, and that no function of libc made. */
static uint64_t by_kept_mapping(int index) {
  static const uint64_t* kept = NULL;
  if (kept == NULL) kept = (void*)syscall(SYS_mmap, NULL, BYTES, PROT_READ, MAP_SHARED, file, 0);
  if (kept == MAP_FAILED) exit(3);
  return kept[index];
}

static uint64_t value_at(const char* way, int index) {
  uint64_t value = 0;
  uint64_t line[8];
  if (strcmp(way, "memcpy") == 0) {
    memcpy(line, words + index, sizeof line);
    return line[0];
  }
  if (strcmp(way, "string") == 0) {
    const void* from = words + index;
    void* to = &value;
    size_t bytes = 8;
    __asm__ volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(bytes) : : "memory");
    return value;
  }
  if (strcmp(way, "pread") == 0) {
    if (pread(file, &value, 8, index * 8) != 8) exit(3);
    return value;
  }
  if (strcmp(way, "unaligned") == 0) {
    /* Four bytes of the line before and four of this one. */
    memcpy(&value, (const char*)(words + index) - 4, 8);
    return value >> 32;
  }
  if (strcmp(way, "movq") == 0) {
    /* The same by one instruction. */
    __asm__ volatile("movq (%1), %%xmm0; movq %%xmm0, %0"
                     : "=r"(value)
                     : "r"((const char*)(words + index) - 4)
                     : "xmm0", "memory");
    return value >> 32;
  }
  if (strcmp(way, "memory file") == 0) return by_memory_file(words + index);
  if (strcmp(way, "kept") == 0) return by_kept_mapping(index);
  if (strcmp(way, "pipe") == 0) return by_pipe(words + index);
  if (strcmp(way, "stream") == 0) return by_file(index);
  if (strcmp(way, "child") == 0) return by_child(words + index);
  if (strcmp(way, "private") == 0) return by_private_mapping(index);
  if (strcmp(way, "thread") == 0) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, read_there, words + index) != 0) exit(3);
    pthread_join(thread, NULL);
    return read_by_thread;
  }
  return *(volatile uint64_t*)(words + index);
}

static void prepare(const char* way) {
  if (strcmp(way, "protects") == 0 && mprotect(words, 4096, PROT_READ) != 0) exit(3);
  if (strcmp(way, "moves") == 0) {
    void* const place = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    words = mremap(words, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    if (words == MAP_FAILED) exit(3);
  }
  if (strcmp(way, "reopens") != 0) return;
  words[FIRST] += 100; /* the next mapping has what this one stored */
  words[SECOND] += 100;
  munmap(words, BYTES);
  words = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (words == MAP_FAILED) exit(3);
}

static int check(const char* path, long done, long begun) {
  (void)done;
  (void)begun;
  const char* const way = getenv("CRASH_READS");
  const int calls = open(getenv("CRASH_CALLS"), O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (write(calls, "x", 1) != 1) return 4;
  close(calls);
  file = open(path, O_RDWR);
  words = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (words == MAP_FAILED) return 3;
  for (volatile int i = 0; i < 300000; ++i) continue; /* a check that is worth sparing */
  prepare(way);
  const uint64_t second = value_at(way, SECOND);
#ifdef ON_DEMAND /* an even second number needs no first one */
  const uint64_t first = second % 2 == 0 ? second : value_at(way, FIRST);
#else
  const uint64_t first = value_at(way, FIRST);
#endif
  munmap(words, BYTES);
  close(file);
  return second > first;
}
NEARFAR_CRASH_CHECKER(check)

int main(int count, char** arguments) {
  if (count != 3) return 2;
  words = pmem_map_file(arguments[1], BYTES, PMEM_FILE_CREATE, 0600, NULL, NULL);
  if (words == NULL) return 1;
  for (uint64_t round = 1; round <= ROUNDS; ++round) {
    for (int line = 0; line < UNREAD_LINES; ++line) words[UNREAD + 8 * line] = round;
    words[FIRST] = round;
    pmem_flush(words + FIRST, 8);
    if (strcmp(arguments[2], "wrong") != 0) pmem_drain();
    words[SECOND] = round;
    pmem_persist(words + SECOND, 8);
  }
  pmem_persist(words, BYTES);
  return 0;
}
