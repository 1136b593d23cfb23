/* Flushes, fences and streams a known number of times: in a mapped file, a large block and small
 * ones. Arguments: the file (a page or more), rounds. */
#include <fcntl.h>
#include <immintrin.h>
#include <nearfar/mark.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILE_BYTES = 1 << 16, BLOCK_BYTES = 1 << 20, NODES = 1 << 13, LINE = 64 };

/* As libpmem's headers write them for assemblers that know neither. */
static void old_clflushopt(const void* address) {
  __asm__ volatile(".byte 0x66; clflush %0" : "+m"(*(volatile char*)address));
}
static void old_clwb(const void* address) {
  __asm__ volatile(".byte 0x66; xsaveopt %0" : "+m"(*(volatile char*)address));
}

__attribute__((noinline)) static char* make_block(void) { return aligned_alloc(4096, BLOCK_BYTES); }
struct node {
  struct node* next;
  long value[7];
};
__attribute__((noinline)) static struct node* make_node(void) {
  return malloc(sizeof(struct node));
}

/* Not linked: a program may ask whether it is there. */
void pmem_persist(const void* address, size_t size) __attribute__((weak));

int main(int count, char** words) {
  if (count != 3) return 2;
  const long rounds = atol(words[2]);
  if (pmem_persist != NULL) return 3;
  const int file = open(words[1], O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, FILE_BYTES) != 0) return 1;
  char* pool = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  char* block = make_block();
  if (pool == MAP_FAILED || block == NULL) return 1;

  nearfar_phase_begin("file");
  for (long round = 0; round < rounds; ++round) {
    char* line = pool + round % 16 * LINE;
    *(long*)line = round;
    _mm_clwb(line);
    _mm_clflushopt(line + LINE * 16);
    _mm_clflush(line + LINE * 32);
    _mm_sfence();
    _mm_sfence(); /* waits for nothing */
    old_clflushopt(line);
    old_clwb(line);
    __asm__ volatile("sfence" ::: "memory");
  }
  msync(pool, FILE_BYTES, MS_SYNC);
  nearfar_phase_end("file", (double)rounds);

  nearfar_phase_begin("block");
  for (long round = 0; round < rounds; ++round) {
    char* to = block + round * LINE % BLOCK_BYTES;
    _mm_stream_si128((__m128i*)to, _mm_set1_epi64x(round));
    _mm_stream_si64((long long*)(to + 16), round);
  }
  _mm_mfence();
  nearfar_phase_end("block", (double)rounds);

  nearfar_phase_begin("nodes");
  struct node* all = NULL;
  atomic_long made = 0;
  for (long i = 0; i < NODES; ++i) {
    struct node* fresh = make_node();
    fresh->next = all;
    all = fresh;
    _mm_clwb(fresh);
    atomic_fetch_add(&made, 1); /* a lock prefix waits, too */
  }
  nearfar_phase_end("nodes", NODES);
  long sum = 0;
  for (struct node* at = all; at != NULL; at = at->next) ++sum;
  printf("%ld %ld\n", sum, *(long*)pool);
  return 0;
}
