// The plain program beside the simulator: the same independent random accesses over 1 GiB, made.
// Reads the stream (8 bytes an access: twice the address, plus one for a store) from a file and
// prints ns of CPU time per access. Huge pages, which make it faster: the harder peer.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static double cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const size_t region = strtoull(argv[2], NULL, 10);
  FILE* file = fopen(argv[1], "rb");
  if (file == NULL) return 3;
  fseek(file, 0, SEEK_END);
  const size_t count = (size_t)ftell(file) / sizeof(uint64_t);
  rewind(file);
  uint64_t* words = malloc(count * sizeof(uint64_t));
  if (words == NULL || fread(words, sizeof(uint64_t), count, file) != count) return 3;
  char* memory = mmap(NULL, region, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 3;
  madvise(memory, region, MADV_HUGEPAGE);
  for (size_t i = 0; i < region; i += 4096) memory[i] = 1;
  uint64_t sum = 0;
  const double before = cpu_ns();
  for (size_t i = 0; i < count; ++i) {
    sum += *(volatile uint64_t*)(memory + (words[i] >> 1));
  }
  printf("%.3f %llu\n", (cpu_ns() - before) / (double)count, (unsigned long long)sum);
  return 0;
}
