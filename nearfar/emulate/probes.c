/* Probes of an emulated memory: a chase, chains of it, a stream. Run by nearfar/emulate/probes.py
 * as `probes BYTES LINES`: a region of so many bytes, so many lines touched by each kernel.
 *
 * Marks phases KERNEL.PART; their operations are the lines touched. Those of the phase huge_lines
 * are the lines that lie in pages of 2 MiB. */
#include <inttypes.h>
#include <nearfar/mark.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifndef MADV_COLLAPSE /* Of Linux 6.1; newer than some C libraries. */
#define MADV_COLLAPSE 25
#endif

enum { line_bytes = 64, most_chains = 16 };
/* Each kernel's lines in so many parts, in turn, each a phase: what else goes on for a while then
 * meets few parts of every kernel, and not the middle one. */
enum { rounds = 7 };

struct line {
  struct line* next;
  uint64_t value[7];
};

/* What comes before the probes is not slowed: it would take ten times as long as they do. */
#ifdef __clang__
#define AS_IT_IS __attribute__((noinline, disable_sanitizer_instrumentation))
#else
#define AS_IT_IS __attribute__((noinline))
#endif

static volatile uint64_t result; /* Written, so that no kernel is left out as without use. */
static uint64_t state = 0x9E3779B97F4A7C15ull;
AS_IT_IS static uint64_t random_below(uint64_t bound) { /* xorshift64*: order is all that matters */
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (uint64_t)((unsigned __int128)(state * 0x2545F4914F6CDD1Dull) * bound >> 64);
}

/* One cycle through all lines, in a random order; `starts` are places on it, evenly apart. The
 * order is shuffled in an array of its own, which caches hold: to follow the cycle for the places
 * would take several times as long as a kernel. */
AS_IT_IS static int link_lines(struct line* lines, uint32_t count, struct line** starts) {
  uint32_t* const order = calloc(count, sizeof *order);
  if (order == NULL) return 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t j = (uint32_t)random_below(i + 1ull);
    order[i] = order[j];
    order[j] = i;
  }
  for (uint32_t i = 1; i < count; ++i) lines[order[i - 1]].next = &lines[order[i]];
  lines[order[count - 1]].next = &lines[order[0]];
  for (uint32_t k = 0; k < most_chains; ++k) starts[k] = &lines[order[count / most_chains * k]];
  free(order);
  return 1;
}

/* Lines of this process that lie in pages of 2 MiB. */
AS_IT_IS static uint64_t huge_lines(void) {
  FILE* const file = fopen("/proc/self/smaps_rollup", "r");
  if (file == NULL) return 0;
  char text[256];
  uint64_t kibibytes = 0;
  while (fgets(text, sizeof text, file) != NULL) {
    if (sscanf(text, "AnonHugePages: %" SCNu64, &kibibytes) == 1) break;
  }
  fclose(file);
  return kibibytes * 1024 / line_bytes;
}

static unsigned part;
static char name_of_part[32];
static const char* named(const char* kernel) {
  snprintf(name_of_part, sizeof name_of_part, "%s.%u", kernel, part);
  return name_of_part;
}

static void follow(struct line** at, unsigned chains, uint64_t lines, const char* kernel) {
  const char* const name = named(kernel);
  NEARFAR_BEGIN(name);
  for (uint64_t step = 0; step < lines / chains; ++step) {
    for (unsigned k = 0; k < chains; ++k) at[k] = at[k]->next;
  }
  NEARFAR_END(name, lines / chains * chains);
}

/* Apart, so that each has its chains in registers. */
__attribute__((noinline)) static void chase(struct line** at, uint64_t lines) {
  follow(at, 1, lines, "chase");
}
__attribute__((noinline)) static void chains_4(struct line** at, uint64_t lines) {
  follow(at, 4, lines, "chains-4");
}
__attribute__((noinline)) static void chains_16(struct line** at, uint64_t lines) {
  follow(at, 16, lines, "chains-16");
}
__attribute__((noinline)) static uint64_t stream(const uint64_t* words, uint64_t count,
                                                 uint64_t lines) {
  uint64_t sum = 0;
  const char* const name = named("stream");
  NEARFAR_BEGIN(name);
  uint64_t touched = 0;
  for (; touched + count <= lines || touched == 0; touched += count) {
    for (uint64_t i = 0; i < count * 8; ++i) sum += words[i];
  }
  NEARFAR_END(name, touched);
  return sum;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const uint64_t count = strtoull(argv[1], NULL, 10) / line_bytes;
  const uint64_t lines = strtoull(argv[2], NULL, 10);
  struct line* const region = aligned_alloc((size_t)2 << 20, count * line_bytes);
  if (region == NULL || count < most_chains || count > UINT32_MAX) return 3;
  madvise(region, count * line_bytes, MADV_HUGEPAGE); /* or not: then pages are small */
  struct line* at[most_chains];
  if (!link_lines(region, (uint32_t)count, at)) return 3;
  /* Where a page was given, the others were not for want of whole ones at that moment. */
  if (huge_lines() > 0) madvise(region, count * line_bytes, MADV_COLLAPSE);
  struct line* four[4] = {at[1], at[5], at[9], at[13]};
  uint64_t sum = 0;
  /* Here, and not before: what lies between two marks is slowed too. */
  NEARFAR_BEGIN("huge_lines");
  NEARFAR_END("huge_lines", huge_lines());
  for (part = 0; part < rounds; ++part) {
    chase(at, lines / rounds);
    chains_4(four, 2 * lines / rounds);
    chains_16(at, 4 * lines / rounds);
    sum += stream((const uint64_t*)region, count, 8 * lines / rounds);
  }
  result = sum + (uintptr_t)at[0] + (uintptr_t)four[0];
  return 0;
}
