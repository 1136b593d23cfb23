// MERCI's embedding reduction in kind: sums of the vectors that a query names.
//   embed VECTORS QUERIES ITEMS
// Vectors have 64 floats; the items of a query follow a power law, in an order without locality.
#include <cmath>

#include "kind.hpp"

int main(int argc, char** argv) {
  constexpr uint64_t WIDTH = 64;
  const uint64_t vectors = kind::number(argc, argv, 1);
  const uint64_t queries = kind::number(argc, argv, 2);
  const uint64_t items = kind::number(argc, argv, 3);
  float* table = kind::array<float>("embeddings", vectors * WIDTH);
  uint32_t* asked = kind::array<uint32_t>("queries", queries * items);
  float* result = kind::array<float>("results", queries * WIDTH);
  kind::Dice dice(4);
  for (uint64_t i = 0; i < queries * items; ++i) {
    const double rank = std::pow(static_cast<double>(vectors), dice.unit());  // density 1 / rank
    asked[i] = static_cast<uint32_t>(static_cast<uint64_t>(rank) * 0x9E3779B1u % vectors);
  }
  kind::measure(queries, [&] {
    for (uint64_t q = 0; q < queries; ++q) {
      float sum[WIDTH] = {};
      for (uint64_t k = 0; k < items; ++k) {
        const float* vector = table + static_cast<uint64_t>(asked[q * items + k]) * WIDTH;
        for (uint64_t w = 0; w < WIDTH; ++w) sum[w] += vector[w];
      }
      memcpy(result + q * WIDTH, sum, sizeof sum);
    }
  });
  kind::sink = static_cast<uint64_t>(result[0]);
}
