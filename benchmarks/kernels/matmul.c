/* C += A B of SIZE x SIZE doubles, which stay in the cache: the worst case for tracing. */
#include "kernel.h"

static KEEP void multiply(const double* a, const double* b, double* c, uint64_t n) {
  for (uint64_t i = 0; i < n; i++)
    for (uint64_t k = 0; k < n; k++) {
      const double factor = a[i * n + k];
      for (uint64_t j = 0; j < n; j++) c[i * n + j] += factor * b[k * n + j];
    }
}

int main(int count, char** words) {
  struct kernel kernel = kernel_arguments(count, words, 256, 40);
  const uint64_t n = kernel.size;
  double* a = kernel_allocate(n * n * sizeof *a);
  double* b = kernel_allocate(n * n * sizeof *b);
  double* c = kernel_allocate(n * n * sizeof *c);
  for (uint64_t i = 0; i < n * n; i++) {
    a[i] = (double)(i / n);
    b[i] = 1;
    c[i] = 0;
  }
  kernel_begin(&kernel);
  for (uint64_t r = 0; r < kernel.repetitions; r++) multiply(a, b, c, n);
  kernel_end(&kernel, (double)(n * n * n * kernel.repetitions));
  double sum = 0;
  for (uint64_t i = 0; i < n * n; i++) sum += c[i];
  free(a);
  free(b);
  free(c);
  return kernel_check(&kernel, (uint64_t)sum, n * n * (n * (n - 1) / 2) * kernel.repetitions);
}
