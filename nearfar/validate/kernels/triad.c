/* a[i] = b[i] + s * c[i]: two streams read, one written. */
#include "kernel.h"

const uint64_t kernel_operations = 32000000;
const double kernel_accesses = 0.375; /* three elements of eight bytes in lines of 64 */

static uint64_t n;
static double *a, *b, *c;

void kernel_prepare(uint64_t bytes) {
  n = bytes / (3 * sizeof *a);
  a = kernel_take(n * sizeof *a);
  b = kernel_take(n * sizeof *b);
  c = kernel_take(n * sizeof *c);
  for (uint64_t i = 0; i < n; i++) {
    a[i] = 0;
    b[i] = (double)(i % 1000);
    c[i] = (double)(i % 77);
  }
}

uint64_t kernel_perform(uint64_t first, uint64_t count) {
  for (uint64_t from = first % n; count > 0; from = 0) {
    const uint64_t part = count < n - from ? count : n - from;
    for (uint64_t i = from; i < from + part; i++) a[i] = b[i] + 3.0 * c[i];
    count -= part;
  }
  return 0;
}

uint64_t kernel_expected(uint64_t first, uint64_t count) {
  uint64_t wrong = 0;
  for (uint64_t k = first; k < first + count && k < first + n; k++) {
    const uint64_t i = k % n;
    wrong += a[i] != (double)(i % 1000 + 3 * (i % 77));
  }
  return wrong;
}
