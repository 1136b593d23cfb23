/* Kernels for memory that is moved in pages: each touches pages in its own order.
 *
 *   paged NAME BYTES
 *
 * Arithmetic follows each touch, so that a fault takes only a few times as long as the work on the
 * page. Half of each page does not repeat, so that it compresses to about half. Prints a sum that
 * depends on all touches.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nearfar/mark.h"

enum { page_words = 512, line_words = 8 };

typedef uint64_t word;

static word seed = 88172645463325252u;
static word sum;

static word next(void) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  return seed ^= seed << 17;
}

static word* fill(word* data, size_t words) {
  for (size_t i = 0; i < words; ++i) data[i] = i % page_words < page_words / 2 ? next() : i;
  return data;
}

__attribute__((noinline)) static word* make_large(size_t words) {
  return fill(malloc(words * sizeof(word)), words);
}

__attribute__((noinline)) static word* make_small(size_t words) {
  return fill(malloc(words * sizeof(word)), words);
}

/* Arithmetic of a few ns per round, which depends on the value read. */
static word work(word value, int rounds) {
  for (int i = 0; i < rounds; ++i) value = value * 6364136223846793005u + 1442695040888963407u;
  return value;
}

static void read_page(const word* data, size_t page, int rounds) {
  sum += work(data[page * page_words + next() % (page_words / line_words) * line_words], rounds);
}

static void write_page(word* data, size_t page, int rounds) {
  word* at = data + page * page_words + next() % (page_words / line_words) * line_words;
  *at = work(*at, rounds);
  sum += *at;
}

static void loop(word* data, size_t pages) {
  for (size_t i = 0; i < 4 * pages; ++i) read_page(data, i % pages, 6000);
}

static void loop_write(word* data, size_t pages) {
  for (size_t i = 0; i < 3 * pages; ++i) write_page(data, i % pages, 9000);
}

static void uniform(word* data, size_t pages) {
  for (size_t i = 0; i < 4 * pages; ++i) read_page(data, next() % pages, 4500);
}

static void uniform_write(word* data, size_t pages) {
  for (size_t i = 0; i < 4 * pages; ++i) write_page(data, next() % pages, 3000);
}

static void hot_cold(word* data, size_t pages) {
  for (size_t i = 0; i < 20 * pages; ++i) {
    read_page(data, next() % 100 < 90 ? next() % (pages / 5) : next() % pages, 900);
  }
}

static void skewed(word* data, size_t pages) {
  for (size_t i = 0; i < 10 * pages; ++i) {
    const double r = (double)(next() >> 11) * 0x1p-53;
    read_page(data, (size_t)(r * r * r * (double)pages), 1800);
  }
}

static void window(word* data, size_t pages) {
  const size_t steps = 8 * pages;
  for (size_t i = 0; i < steps; ++i) {
    read_page(data, (i * pages / steps + next() % (pages / 3)) % pages, 1200);
  }
}

static void chase(word* data, size_t pages) {
  // A cycle through all pages (Sattolo).
  for (size_t i = 0; i < pages; ++i) data[i * page_words] = i;
  for (size_t i = pages - 1; i > 0; --i) {
    const size_t j = next() % i;
    const word kept = data[i * page_words];
    data[i * page_words] = data[j * page_words];
    data[j * page_words] = kept;
  }
  word at = 0;
  for (size_t i = 0; i < 4 * pages; ++i) {
    at = data[at * page_words];
    sum += work(at, 3600);
  }
}

static void two_blocks(word* data, size_t pages) {
  const size_t hot = pages / 4;
  word* small = make_small(hot * page_words);
  for (size_t i = 0; i < 3 * pages; ++i) {
    read_page(data, i % pages, 1500);
    read_page(small, next() % hot, 1500);
    read_page(small, next() % hot, 1500);
  }
}

static void stencil(word* data, size_t pages) {
  word* other = make_small(pages * page_words);
  const size_t words = pages * page_words;
  for (int pass = 0; pass < 4; ++pass) {
    for (size_t i = page_words; i + page_words < words; ++i) {
      other[i] = data[i - page_words] + 3 * data[i] + data[i + page_words] + work(i, 9);
    }
    word* const kept = data;
    data = other;
    other = kept;
  }
  sum += data[words / 2];
}

static int by_value(const void* left, const void* right) {
  const word a = *(const word*)left;
  const word b = *(const word*)right;
  return (a > b) - (a < b);
}

static void search(word* data, size_t pages) {
  const size_t words = pages * page_words;
  for (size_t i = 0; i < words; ++i) data[i] = i * (UINT64_MAX / words);
  for (size_t i = 0; i < 6 * pages; ++i) {
    const word wanted = next();
    size_t low = 0, high = words;
    while (high - low > 1) {
      const size_t middle = low + (high - low) / 2;
      if (data[middle] <= wanted)
        low = middle;
      else
        high = middle;
    }
    sum += work(low, 2400);
  }
}

static void sort(word* data, size_t pages) {
  qsort(data, pages * page_words / 8, sizeof *data, by_value);
  word* sorted = make_small(pages * page_words);
  const size_t words = pages * page_words;
  for (size_t run = words / 16; run < words; run *= 2) {
    for (size_t begin = 0; begin < words; begin += 2 * run) {
      size_t left = begin, right = begin + run, out = begin;
      const size_t middle = right < words ? right : words;
      const size_t end = begin + 2 * run < words ? begin + 2 * run : words;
      while (out < end) {
        const int from_left = left < middle && (right >= end || data[left] <= data[right]);
        sorted[out] = from_left ? data[left++] : data[right++];
        sum += work(sorted[out++], 4);
      }
    }
    memcpy(data, sorted, words * sizeof *data);
  }
  sum += data[words / 2];
}

static void hash(word* data, size_t pages) {
  for (size_t i = 0; i < 12 * pages; ++i) {
    const double r = (double)(next() >> 11) * 0x1p-53;
    const word key = (word)(r * r * (double)pages);
    read_page(data, work(key, 3) % pages, 1500);
  }
}

static void halves(word* data, size_t pages) {
  for (int turn = 0; turn < 6; ++turn) {
    const size_t begin = turn % 2 == 0 ? 0 : pages / 2;
    for (size_t i = 0; i < pages; ++i) read_page(data, begin + next() % (pages / 2), 3000);
  }
}

static const struct {
  const char* name;
  void (*run)(word* data, size_t pages);
  size_t blocks; /* all memory that it uses, in quarters of `pages` */
} kernels[] = {
    {"chase", chase, 4},
    {"halves", halves, 4},
    {"hash", hash, 4},
    {"hot_cold", hot_cold, 4},
    {"loop", loop, 4},
    {"loop_write", loop_write, 4},
    {"search", search, 4},
    {"skewed", skewed, 4},
    {"sort", sort, 8},
    {"stencil", stencil, 8},
    {"two_blocks", two_blocks, 5},
    {"uniform", uniform, 4},
    {"uniform_write", uniform_write, 4},
    {"window", window, 4},
};

int main(int count, char** words) {
  const size_t kinds = sizeof kernels / sizeof *kernels;
  if (count != 3) {
    for (size_t i = 0; i < kinds; ++i) puts(kernels[i].name);
    return 2;
  }
  for (size_t i = 0; i < kinds; ++i) {
    if (strcmp(words[1], kernels[i].name) != 0) continue;
    const size_t bytes = strtoull(words[2], NULL, 10);
    const size_t pages = bytes / 4096 * 4 / kernels[i].blocks;
    word* data = make_large(pages * page_words);
    NEARFAR_BEGIN("kernel");
    kernels[i].run(data, pages);
    NEARFAR_END("kernel", 1);
    printf("%" PRIu64 "\n", sum);
    return 0;
  }
  fprintf(stderr, "there is no kernel %s\n", words[1]);
  return 1;
}
