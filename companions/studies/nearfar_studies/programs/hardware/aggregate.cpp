// A hash aggregation as Velox does it: a table of buckets of 16 tags and 16 pointers of 6 bytes,
// and rows of a key and a sum apart, made as groups appear.
//   aggregate GROUPS ROWS SKEW NEAR_PERCENT
// Keys follow a power law with the skew as its exponent. The first NEAR_PERCENT of the groups' rows
// are one object, the others another.
#include <cmath>
#include <vector>

#include "kind.hpp"

namespace {

struct Row {
  uint64_t key;
  int64_t sum;
};

struct alignas(128) Bucket {
  uint8_t tags[16];
  uint8_t pointers[16][6];
  uint8_t padding[16];
};

uint64_t pointer(const Bucket& bucket, int slot) {
  uint64_t value = 0;
  memcpy(&value, bucket.pointers[slot], 6);
  return value;
}

uint64_t hash(uint64_t key) {
  key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9u;
  return key ^ key >> 31;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t groups = kind::number(argc, argv, 1);
  const uint64_t rows = kind::number(argc, argv, 2);
  const double skew = strtod(kind::word(argc, argv, 3), nullptr);
  const uint64_t first = groups * kind::number(argc, argv, 4) / 100;
  uint64_t slots = 16;
  while (slots * 7 / 8 < groups) slots *= 2;
  const uint64_t buckets = slots / 16;
  Bucket* table = kind::array<Bucket>("table", buckets);
  Row* early = kind::array<Row>("rows", first + 1);
  Row* late = kind::array<Row>("later rows", groups - first + 1);
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
    std::vector<Row*> found(BATCH);
    for (uint64_t begin = 0; begin < rows; begin += BATCH) {
      const uint64_t end = begin + BATCH < rows ? begin + BATCH : rows;
      for (uint64_t i = begin; i < end; ++i) {
        const uint64_t hashed = hash(keys[i]);
        const auto tag = static_cast<uint8_t>(0x80 | hashed >> 57);
        Row* row = nullptr;
        for (uint64_t at = hashed % buckets; row == nullptr; at = (at + 1) % buckets) {
          Bucket& bucket = table[at];
          for (int slot = 0; slot < 16 && row == nullptr; ++slot) {
            if (bucket.tags[slot] == tag) {
              Row* candidate = reinterpret_cast<Row*>(pointer(bucket, slot));
              if (candidate->key == keys[i]) row = candidate;
            } else if (bucket.tags[slot] == 0) {
              row = made < first ? early + made : late + (made - first);
              ++made;
              row->key = keys[i];
              bucket.tags[slot] = tag;
              const auto value = reinterpret_cast<uint64_t>(row);
              memcpy(bucket.pointers[slot], &value, 6);
            }
          }
        }
        found[i - begin] = row;
      }
      for (uint64_t i = begin; i < end; ++i) found[i - begin]->sum += static_cast<int64_t>(i);
    }
  });
  kind::sink = made;
}
