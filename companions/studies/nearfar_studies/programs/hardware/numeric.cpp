// numpy's and scikit-learn's kernels in kind, as the miniapps call them on blocks of a data set.
//   numeric histogram BLOCKS VALUES | matsum BLOCKS ROWS | matmul BLOCKS ROWS PANEL RESULTS |
//   kmeans BLOCKS POINTS DIMENSIONS CENTRES
#include <algorithm>
#include <cmath>
#include <vector>

#include "kind.hpp"

namespace {

// np.histogram(values, edges) sorts 65,536 values at a time, and searches every edge among them.
void histogram(uint64_t blocks, uint64_t n) {
  constexpr uint64_t AT_ONCE = 65536;
  constexpr uint64_t EDGES = 141;
  double* data = kind::array<double>("inputs", blocks * n);
  double* sorted = kind::array<double>("block", AT_ONCE);
  double* edges = kind::array<double>("edges", EDGES);
  int64_t* counts = kind::array<int64_t>("result", EDGES);
  for (uint64_t i = 0; i < 100; ++i) edges[i] = static_cast<double>(i) * 0.1;
  for (uint64_t i = 100; i < EDGES; ++i) edges[i] = static_cast<double>(i) - 90.0;
  edges[EDGES - 1] = HUGE_VAL;
  kind::Dice dice(1);
  for (uint64_t i = 0; i < blocks * n; ++i)
    data[i] = 1.0 / (1.0 - dice.unit()) - 1.0;  // a long tail
  kind::measure(blocks * n, [&] {
    for (uint64_t begin = 0; begin < blocks * n; begin += AT_ONCE) {
      const uint64_t count = std::min(blocks * n - begin, AT_ONCE);
      for (uint64_t i = 0; i < count; ++i) sorted[i] = data[begin + i];
      std::sort(sorted, sorted + count);
      for (uint64_t e = 0; e < EDGES; ++e)
        counts[e] += std::lower_bound(sorted, sorted + count, edges[e]) - sorted;
    }
  });
  kind::sink = static_cast<uint64_t>(counts[EDGES / 2]);
}

// The result of a sum lies where the one before lay.
void matsum(uint64_t blocks, uint64_t rows) {
  const uint64_t n = rows * rows;
  double* a = kind::array<double>("inputs", blocks * n);
  double* b = kind::array<double>("inputs", blocks * n);
  double* c = kind::array<double>("result", n);
  kind::measure(blocks * n, [&] {
    for (uint64_t block = 0; block < blocks; ++block)
      for (uint64_t i = 0; i < n; ++i) c[i] = a[block * n + i] + b[block * n + i];
  });
  kind::sink = static_cast<uint64_t>(c[n / 2]);
}

// c += a @ b: a library packs PANEL rows of b at a time and adds their product with a to a
// temporary, which is then added to c. Products in turn go to RESULTS matrices.
void matmul(uint64_t blocks, uint64_t rows, uint64_t panel, uint64_t results) {
  const uint64_t n = rows * rows;
  double* a = kind::array<double>("inputs", blocks * n);
  double* b = kind::array<double>("inputs", blocks * n);
  double* c = kind::array<double>("result", results * n);
  double* product = kind::array<double>("temporary", n);
  double* packed = kind::array<double>("packed", panel * rows);
  const auto multiply = [&](const double* left, const double* right) {
    for (uint64_t first = 0; first < rows; first += panel) {
      const uint64_t count = std::min(panel, rows - first);
      for (uint64_t i = 0; i < count * rows; ++i) packed[i] = right[first * rows + i];
      for (uint64_t i = 0; i < rows; ++i) {
        double* out = product + i * rows;
        for (uint64_t k = 0; k < count; ++k) {
          const double value = left[i * rows + first + k];
          for (uint64_t j = 0; j < rows; ++j) out[j] += value * packed[k * rows + j];
        }
      }
    }
  };
  kind::measure(blocks * n * rows, [&] {
    for (uint64_t block = 0; block < blocks; ++block) {
      multiply(a + block * n, b + block * n);
      double* sum = c + block % results * n;
      for (uint64_t i = 0; i < n; ++i) sum[i] += product[i];
    }
  });
  kind::sink = static_cast<uint64_t>(c[rows]);
}

// scikit-learn's pairwise_distances reads the points three times: to see that all are finite, for
// their norms, and for their products with the centres. Then the points of every centre are copied
// together and summed.
void kmeans(uint64_t blocks, uint64_t points, uint64_t dimensions, uint64_t centres) {
  double* inputs = kind::array<double>("inputs", blocks * points * dimensions);
  double* centre = kind::array<double>("centres", centres * dimensions);
  double* norms = kind::array<double>("norms", points);
  double* distances = kind::array<double>("distances", points * centres);
  int64_t* nearest = kind::array<int64_t>("labels", points);
  double* gathered = kind::array<double>("gathered", points * dimensions);
  double* sums = kind::array<double>("result", centres * dimensions);
  kind::Dice dice(3);
  for (uint64_t i = 0; i < blocks * points * dimensions; ++i) inputs[i] = dice.unit();
  for (uint64_t i = 0; i < centres * dimensions; ++i) centre[i] = dice.unit();
  const auto dot = [&](const double* x, const double* y) {
    double sum = 0.0;
    for (uint64_t d = 0; d < dimensions; ++d) sum += x[d] * y[d];
    return sum;
  };
  const auto partial_sum = [&](const double* data) {
    double all = 0.0;
    for (uint64_t i = 0; i < points * dimensions; ++i) all += data[i];
    kind::sink = std::isfinite(all) ? 1 : 0;
    for (uint64_t p = 0; p < points; ++p)
      norms[p] = dot(data + p * dimensions, data + p * dimensions);
    for (uint64_t p = 0; p < points; ++p)
      for (uint64_t k = 0; k < centres; ++k)
        distances[p * centres + k] = -2.0 * dot(data + p * dimensions, centre + k * dimensions);
    for (uint64_t p = 0; p < points; ++p)
      for (uint64_t k = 0; k < centres; ++k) distances[p * centres + k] += norms[p];
    for (uint64_t p = 0; p < points; ++p) {
      const double* row = distances + p * centres;
      nearest[p] = std::min_element(row, row + centres) - row;
    }
    for (uint64_t k = 0; k < centres; ++k) {
      uint64_t count = 0;
      for (uint64_t p = 0; p < points; ++p) {
        if (nearest[p] != static_cast<int64_t>(k)) continue;
        for (uint64_t d = 0; d < dimensions; ++d)
          gathered[count * dimensions + d] = data[p * dimensions + d];
        ++count;
      }
      for (uint64_t at = 0; at < count; ++at)
        for (uint64_t d = 0; d < dimensions; ++d)
          sums[k * dimensions + d] += gathered[at * dimensions + d];
    }
  };
  kind::measure(blocks * points, [&] {
    for (uint64_t block = 0; block < blocks; ++block)
      partial_sum(inputs + block * points * dimensions);
  });
  kind::sink = static_cast<uint64_t>(sums[0]);
}

}  // namespace

int main(int argc, char** argv) {
  const char* kernel = kind::word(argc, argv, 1);
  const uint64_t first = kind::number(argc, argv, 2);
  const uint64_t second = kind::number(argc, argv, 3);
  if (strcmp(kernel, "histogram") == 0)
    histogram(first, second);
  else if (strcmp(kernel, "matsum") == 0)
    matsum(first, second);
  else if (strcmp(kernel, "matmul") == 0)
    matmul(first, second, kind::number(argc, argv, 4), kind::number(argc, argv, 5));
  else
    kmeans(first, second, kind::number(argc, argv, 4), kind::number(argc, argv, 5));
}
