// STREAM's four kernels over arrays of doubles.
//   stream copy|scale|add|triad ELEMENTS
#include "kind.hpp"

int main(int argc, char** argv) {
  const char* kernel = kind::word(argc, argv, 1);
  const uint64_t n = kind::number(argc, argv, 2);
  double* a = kind::array<double>("a", n);
  double* b = kind::array<double>("b", n);
  double* c = kind::array<double>("c", n);
  const double scalar = 3.0;
  if (strcmp(kernel, "copy") == 0) {
    kind::measure(n, [&] {
      for (uint64_t i = 0; i < n; ++i) {
        c[i] = a[i];
        asm volatile("" ::: "memory");  // stays a loop: no call of memcpy
      }
    });
  } else if (strcmp(kernel, "scale") == 0) {
    kind::measure(n, [&] {
      for (uint64_t i = 0; i < n; ++i) b[i] = scalar * c[i];
    });
  } else if (strcmp(kernel, "add") == 0) {
    kind::measure(n, [&] {
      for (uint64_t i = 0; i < n; ++i) c[i] = a[i] + b[i];
    });
  } else {
    kind::measure(n, [&] {
      for (uint64_t i = 0; i < n; ++i) a[i] = b[i] + scalar * c[i];
    });
  }
  kind::sink = static_cast<uint64_t>(a[n / 2] + b[n / 3] + c[n / 5]);
}
