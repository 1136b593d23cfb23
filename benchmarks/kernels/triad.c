/* a[i] = b[i] + q c[i] over SIZE doubles: three streams, misses = 3 x SIZE / 8 a repetition. */
#include "kernel.h"

static KEEP void triad(double* restrict a, const double* restrict b, const double* restrict c,
                       double q, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) a[i] = b[i] + q * c[i];
}

int main(int count, char** words) {
  struct kernel kernel = kernel_arguments(count, words, 8 << 20, 8);
  const uint64_t n = kernel.size;
  double* a = kernel_allocate(n * sizeof *a);
  double* b = kernel_allocate(n * sizeof *b);
  double* c = kernel_allocate(n * sizeof *c);
  for (uint64_t i = 0; i < n; i++) {
    a[i] = 0;
    b[i] = (double)i;
    c[i] = 1;
  }
  kernel_begin(&kernel);
  for (uint64_t i = 0; i < kernel.repetitions; i++) triad(a, b, c, (double)(i + 1), n);
  kernel_end(&kernel, (double)(n * kernel.repetitions));
  double sum = 0;
  for (uint64_t i = 0; i < n; i++) sum += a[i] - (double)i;
  const uint64_t result = (uint64_t)sum;
  free(a);
  free(b);
  free(c);
  return kernel_check(&kernel, result, n * kernel.repetitions);
}
