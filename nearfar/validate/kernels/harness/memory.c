/* Memory of the kind under test: NEARFAR_VALIDATE_MEMORY=pages=thp|4k[,node=N]|file=FOLDER|
 * device=PATH[,offset=BYTES]. Exit code 3: it is not available. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kernel.h"

enum { line = 64, most_nodes = 1024 };
static const uint64_t huge_page = 2ull << 20;
/* Small requests share chunks of this size: few mappings, each of whole huge pages. */
static const uint64_t chunk_bytes = 8ull << 20;
/* MPOL_BIND of linux/mempolicy.h, which may not be installed. */
static const int bind_policy = 2;

static struct {
  int parsed;
  int small_pages;
  long node;
  int descriptor;
  int direct;
  uint64_t offset;
} place;

static char *free_from, *free_to;

/* The memory taken so far, in blocks of a huge page; further blocks are not read. */
enum { most_blocks = 4096 };
static char* blocks[most_blocks];
static uint64_t block_count;

static void refuse(const char* what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(3);
}

static void open_file(const char* folder) {
  place.descriptor = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (place.descriptor < 0) refuse(folder);
}

static void parse(void) {
  place.parsed = 1;
  place.node = -1;
  place.descriptor = -1;
  const char* words = getenv("NEARFAR_VALIDATE_MEMORY");
  char* copy = words != NULL ? strdup(words) : NULL;
  char* rest = NULL;
  for (char* word = copy ? strtok_r(copy, ",", &rest) : NULL; word != NULL;
       word = strtok_r(NULL, ",", &rest)) {
    if (strcmp(word, "pages=4k") == 0) {
      place.small_pages = 1;
    } else if (strncmp(word, "node=", 5) == 0) {
      place.node = strtol(word + 5, NULL, 10);
    } else if (strncmp(word, "file=", 5) == 0) {
      open_file(word + 5);
    } else if (strncmp(word, "device=", 7) == 0) {
      place.descriptor = open(word + 7, O_RDWR | O_CLOEXEC);
      place.direct = 1;
      if (place.descriptor < 0) refuse(word + 7);
    } else if (strncmp(word, "offset=", 7) == 0) {
      place.offset = strtoull(word + 7, NULL, 10);
    } else if (strcmp(word, "pages=thp") != 0) {
      fprintf(stderr, "NEARFAR_VALIDATE_MEMORY: cannot read %s\n", word);
      exit(2);
    }
  }
  free(copy);
}

static char* map_file(uint64_t bytes) {
  if (!place.direct && ftruncate(place.descriptor, (off_t)(place.offset + bytes)) != 0)
    refuse("cannot make the file larger");
  const int ways[] = {MAP_SHARED_VALIDATE | MAP_SYNC, MAP_SHARED};
  for (int i = 0; i < 2; i++) {
    char* memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, ways[i], place.descriptor, (off_t)place.offset);
    if (memory != MAP_FAILED) {
      place.offset += bytes;
      memset(memory, 0, bytes);
      return memory;
    }
  }
  refuse("cannot map the file");
  return NULL;
}

static char* map_anonymous(uint64_t bytes) {
  char* memory = mmap(NULL, bytes + huge_page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) refuse("no memory");
  char* begin = (char*)(((uintptr_t)memory + huge_page - 1) / huge_page * huge_page);
  madvise(begin, bytes, place.small_pages ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
  if (place.node >= 0 && place.node < most_nodes) {
    unsigned long mask[most_nodes / (8 * sizeof(unsigned long))] = {0};
    mask[place.node / 64] = 1ul << (place.node % 64);
    if (syscall(SYS_mbind, begin, bytes, bind_policy, mask, (unsigned long)most_nodes, 0ul) != 0)
      refuse("cannot bind memory to the node");
  }
  memset(begin, 0, bytes); /* no page is first touched while a run is timed */
  return begin;
}

void* kernel_take(uint64_t bytes) {
  if (!place.parsed) parse();
  bytes = (bytes + line - 1) / line * line;
  if ((uint64_t)(free_to - free_from) < bytes) {
    uint64_t chunk = bytes > chunk_bytes ? bytes : chunk_bytes;
    chunk = (chunk + huge_page - 1) / huge_page * huge_page;
    free_from = place.descriptor >= 0 ? map_file(chunk) : map_anonymous(chunk);
    free_to = free_from + chunk;
    for (char* at = free_from; at < free_to && block_count < most_blocks; at += huge_page)
      blocks[block_count++] = at;
  }
  char* taken = free_from;
  free_from += bytes;
  return taken;
}

static double thread_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Each read must wait for the previous one: its address is computed from the value that was read,
 * though the mask clears all bits of the value. */
static double dependent_reads_ns(uint64_t accesses, uint64_t count, uint64_t lines) {
  static volatile uint64_t no_bits = 0;
  static uint64_t state = 1;
  const uint64_t mask = no_bits;
  const double began = thread_ns();
  for (uint64_t i = 0; i < accesses; i++) {
    const uint64_t random = kernel_mix(state);
    const char* at = blocks[kernel_below(random, count)] + random % lines * line;
    state = random ^ (*(const volatile uint64_t*)at & mask);
  }
  return (thread_ns() - began) / (double)accesses;
}

double kernel_dependent_ns(uint64_t accesses) {
  if (block_count == 0) return 0;
  enum { lines_of_a_page = 64 };
  dependent_reads_ns(accesses, block_count, huge_page / line);
  const double all_ns = dependent_reads_ns(accesses, block_count, huge_page / line);
  /* Reads of one page, which a first-level cache holds, take only the time to choose a place. */
  const double ns = all_ns - dependent_reads_ns(accesses, 1, lines_of_a_page);
  return ns > 0 ? ns : 0;
}

double kernel_independent_ns(uint64_t accesses) {
  static uint64_t state;
  if (block_count == 0) return 0;
  /* Choosing the places is not timed; they are read in sequence. */
  const char** places = malloc(accesses * sizeof *places);
  if (places == NULL) refuse("no memory");
  double ns = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (uint64_t i = 0; i < accesses; i++) {
      state = kernel_mix(state + 1);
      places[i] = blocks[kernel_below(state, block_count)] + state % (huge_page / line) * line;
    }
    const double began = thread_ns();
    for (uint64_t i = 0; i < accesses; i++) (void)*(const volatile uint64_t*)places[i];
    ns = (thread_ns() - began) / (double)accesses;
  }
  free(places);
  return ns;
}

void kernel_shuffle(uint32_t* deck, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) deck[i] = (uint32_t)i;
  for (uint64_t i = n; i > 1; i--) {
    const uint64_t other = kernel_below(kernel_mix(~i), i);
    const uint32_t card = deck[i - 1];
    deck[i - 1] = deck[other];
    deck[other] = card;
  }
}
