// numpy's kernels in kind, block by block as numpy computes them.
//   numeric histogram ELEMENTS BINS | matsum ROWS | matmul ROWS BLOCK | kmeans POINTS DIMENSIONS
//   CENTRES
#include <cmath>

#include "kind.hpp"

namespace {

void histogram(uint64_t n, uint64_t bins) {
  constexpr uint64_t BLOCK = 65536;
  double* data = kind::array<double>("inputs", n);
  double* kept = kind::array<double>("block", BLOCK);
  int64_t* places = kind::array<int64_t>("places", BLOCK);
  double* edges = kind::array<double>("edges", bins + 1);
  uint64_t* counts = kind::array<uint64_t>("result", bins);
  for (uint64_t i = 0; i <= bins; ++i)
    edges[i] = static_cast<double>(i) / static_cast<double>(bins);
  kind::Dice dice(1);
  for (uint64_t i = 0; i < n; ++i) data[i] = dice.unit();
  kind::measure(n, [&] {
    for (uint64_t begin = 0; begin < n; begin += BLOCK) {
      const uint64_t count = n - begin < BLOCK ? n - begin : BLOCK;
      uint64_t k = 0;
      for (uint64_t i = 0; i < count; ++i)
        if (data[begin + i] >= edges[0] && data[begin + i] <= edges[bins])
          kept[k++] = data[begin + i];
      for (uint64_t i = 0; i < k; ++i)
        places[i] = static_cast<int64_t>(kept[i] * static_cast<double>(bins));
      for (uint64_t i = 0; i < k; ++i) places[i] -= places[i] == static_cast<int64_t>(bins);
      for (uint64_t i = 0; i < k; ++i) places[i] -= kept[i] < edges[places[i]];
      for (uint64_t i = 0; i < k; ++i) ++counts[places[i]];
    }
  });
  kind::sink = counts[bins / 2];
}

void matsum(uint64_t rows) {
  const uint64_t n = rows * rows;
  double* a = kind::array<double>("inputs", n);
  double* b = kind::array<double>("inputs", n);
  double* c = kind::array<double>("result", n);
  kind::measure(n, [&] {
    for (uint64_t i = 0; i < n; ++i) c[i] = a[i] + b[i];
  });
  kind::sink = static_cast<uint64_t>(c[n / 2]);
}

void matmul(uint64_t rows, uint64_t block) {
  double* a = kind::array<double>("inputs", rows * rows);
  double* b = kind::array<double>("inputs", rows * rows);
  double* c = kind::array<double>("result", rows * rows);
  kind::measure(rows * rows * rows, [&] {
    for (uint64_t kk = 0; kk < rows; kk += block)
      for (uint64_t jj = 0; jj < rows; jj += block)
        for (uint64_t i = 0; i < rows; ++i)
          for (uint64_t k = kk; k < kk + block && k < rows; ++k) {
            const double value = a[i * rows + k];
            for (uint64_t j = jj; j < jj + block && j < rows; ++j)
              c[i * rows + j] += value * b[k * rows + j];
          }
  });
  kind::sink = static_cast<uint64_t>(c[rows]);
}

void kmeans(uint64_t points, uint64_t dimensions, uint64_t centres) {
  double* data = kind::array<double>("inputs", points * dimensions);
  double* centre = kind::array<double>("centres", centres * dimensions);
  double* sums = kind::array<double>("result", centres * dimensions);
  kind::Dice dice(3);
  for (uint64_t i = 0; i < centres * dimensions; ++i) centre[i] = dice.unit();
  kind::measure(points, [&] {
    for (uint64_t p = 0; p < points; ++p) {
      uint64_t nearest = 0;
      double least = HUGE_VAL;
      for (uint64_t k = 0; k < centres; ++k) {
        double distance = 0.0;
        for (uint64_t d = 0; d < dimensions; ++d) {
          const double apart = data[p * dimensions + d] - centre[k * dimensions + d];
          distance += apart * apart;
        }
        if (distance < least) {
          least = distance;
          nearest = k;
        }
      }
      for (uint64_t d = 0; d < dimensions; ++d)
        sums[nearest * dimensions + d] += data[p * dimensions + d];
    }
  });
  kind::sink = static_cast<uint64_t>(sums[0]);
}

}  // namespace

int main(int argc, char** argv) {
  const char* kernel = kind::word(argc, argv, 1);
  const uint64_t first = kind::number(argc, argv, 2);
  if (strcmp(kernel, "histogram") == 0)
    histogram(first, kind::number(argc, argv, 3));
  else if (strcmp(kernel, "matsum") == 0)
    matsum(first);
  else if (strcmp(kernel, "matmul") == 0)
    matmul(first, kind::number(argc, argv, 3));
  else
    kmeans(first, kind::number(argc, argv, 3), kind::number(argc, argv, 4));
}
