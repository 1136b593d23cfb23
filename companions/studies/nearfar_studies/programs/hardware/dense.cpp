// PolyBench's atax and jacobi-2d.
//   dense atax|jacobi-2d N
#include "kind.hpp"

namespace {

void atax(uint64_t n) {
  double* a = kind::array<double>("A", n * n);
  double* x = kind::array<double>("x", n);
  double* y = kind::array<double>("y", n);
  for (uint64_t i = 0; i < n * n; ++i) a[i] = static_cast<double>(i % 17);
  kind::measure(4 * n * n, [&] {
    for (uint64_t i = 0; i < n; ++i) {
      double sum = 0.0;
      for (uint64_t j = 0; j < n; ++j) sum += a[i * n + j] * x[j];
      for (uint64_t j = 0; j < n; ++j) y[j] += a[i * n + j] * sum;
    }
  });
  kind::sink = static_cast<uint64_t>(y[n / 2]);
}

void sweep(const double* from, double* to, uint64_t n) {
  for (uint64_t i = 1; i + 1 < n; ++i)
    for (uint64_t j = 1; j + 1 < n; ++j)
      to[i * n + j] = 0.2 * (from[i * n + j] + from[i * n + j - 1] + from[i * n + j + 1] +
                             from[(i + 1) * n + j] + from[(i - 1) * n + j]);
}

void jacobi(uint64_t n) {
  double* a = kind::array<double>("A", n * n);
  double* b = kind::array<double>("B", n * n);
  kind::measure(10 * n * n, [&] {
    sweep(a, b, n);
    sweep(b, a, n);
  });
  kind::sink = static_cast<uint64_t>(a[n + 1]);
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t n = kind::number(argc, argv, 2);
  if (strcmp(kind::word(argc, argv, 1), "atax") == 0)
    atax(n);
  else
    jacobi(n);
}
