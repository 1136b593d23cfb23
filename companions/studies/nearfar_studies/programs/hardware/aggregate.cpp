// A hash aggregation as columnar engines do it: groups in a table of tags and pointers, and rows of
// keys and accumulators apart.
//   aggregate GROUPS ROWS SKEW_PERCENT
// Keys follow a power law with the skew as its exponent; rows are made group by group as they come.
#include <cmath>
#include <vector>

#include "kind.hpp"

namespace {

struct Row {
  uint64_t key;
  int64_t sum, count;
};

}  // namespace

int main(int argc, char** argv) {
  const uint64_t groups = kind::number(argc, argv, 1);
  const uint64_t rows = kind::number(argc, argv, 2);
  const double skew = static_cast<double>(kind::number(argc, argv, 3)) / 100.0;
  uint64_t slots = 1;
  while (slots * 7 / 8 < groups) slots *= 2;
  uint32_t* table = kind::array<uint32_t>("table", slots);
  Row* payload = kind::array<Row>("rows", groups + 1);
  uint64_t* keys = kind::array<uint64_t>("input", rows);
  kind::Dice dice(5);
  const double count = static_cast<double>(groups);
  for (uint64_t i = 0; i < rows; ++i) {
    const double u = dice.unit();
    const double rank = skew > 0.99 ? std::pow(count, u) : count * std::pow(u, 1.0 / (1.0 - skew));
    keys[i] = static_cast<uint64_t>(rank) % groups * 0x9E3779B97F4A7C15u;
  }
  uint64_t made = 0;
  kind::measure(rows, [&] {
    constexpr uint64_t BATCH = 1024;
    std::vector<uint64_t> places(BATCH);
    for (uint64_t begin = 0; begin < rows; begin += BATCH) {
      const uint64_t end = begin + BATCH < rows ? begin + BATCH : rows;
      for (uint64_t i = begin; i < end; ++i)
        places[i - begin] = (keys[i] ^ keys[i] >> 32) & (slots - 1);
      for (uint64_t i = begin; i < end; ++i) {
        uint64_t slot = places[i - begin];
        while (table[slot] != 0 && payload[table[slot]].key != keys[i])
          slot = (slot + 1) & (slots - 1);
        if (table[slot] == 0) {
          table[slot] = static_cast<uint32_t>(++made);
          payload[made].key = keys[i];
        }
        places[i - begin] = table[slot];
      }
      for (uint64_t i = begin; i < end; ++i) {
        Row& row = payload[places[i - begin]];
        row.sum += static_cast<int64_t>(i);
        ++row.count;
      }
    }
  });
  kind::sink = made;
}
