// PolyBench 3.2's atax and jacobi-2d-imper on matrices with rows as long as the source's, but fewer
// of them: what a row or three take of a private cache stays.
//   dense atax|jacobi-2d N ROWS
#include "kind.hpp"

namespace {

void atax(uint64_t n, uint64_t rows) {
  double* a = kind::array<double>("A", rows * n);
  double* x = kind::array<double>("x", n);
  double* y = kind::array<double>("y", n);
  for (uint64_t i = 0; i < rows * n; ++i) a[i] = static_cast<double>(i % 17);
  kind::measure(4 * rows * n, [&] {
    for (uint64_t i = 0; i < rows; ++i) {
      double sum = 0.0;
      for (uint64_t j = 0; j < n; ++j) sum += a[i * n + j] * x[j];
      for (uint64_t j = 0; j < n; ++j) y[j] += a[i * n + j] * sum;
    }
  });
  kind::sink = static_cast<uint64_t>(y[n / 2]);
}

// A step is five operations a point, and a copy back.
void jacobi(uint64_t n, uint64_t rows) {
  double* a = kind::array<double>("A", rows * n);
  double* b = kind::array<double>("B", rows * n);
  kind::measure(5 * (rows - 2) * (n - 2), [&] {
    for (uint64_t i = 1; i + 1 < rows; ++i)
      for (uint64_t j = 1; j + 1 < n; ++j)
        b[i * n + j] = 0.2 * (a[i * n + j] + a[i * n + j - 1] + a[i * n + j + 1] +
                              a[(i + 1) * n + j] + a[(i - 1) * n + j]);
    for (uint64_t i = 1; i + 1 < rows; ++i)
      for (uint64_t j = 1; j + 1 < n; ++j) {
        a[i * n + j] = b[i * n + j];
        asm volatile("" ::: "memory");  // stays a loop: no call of memcpy
      }
  });
  kind::sink = static_cast<uint64_t>(a[n + 1]);
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t n = kind::number(argc, argv, 2);
  const uint64_t rows = kind::number(argc, argv, 3);
  if (strcmp(kind::word(argc, argv, 1), "atax") == 0)
    atax(n, rows);
  else
    jacobi(n, rows);
}
