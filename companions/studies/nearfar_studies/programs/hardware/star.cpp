// The star schema benchmark's query 2.1 by hand: rows of the fact table are scanned; of each, the
// date and the supplier are looked up by key, and of a supplier in one region, the part.
//   star ROWS
// A table of keys leads to rows of 128 bytes, in buckets of 256 bytes as Dash has them.
#include <vector>

#include "kind.hpp"

namespace {

struct alignas(128) Row {
  uint64_t keys[4];  // of a fact: date, supplier, part; of a dimension: its own, and what is asked
  char rest[96];
};

struct alignas(256) Bucket {
  uint8_t used, fingers[14], spare[17];
  struct {
    uint64_t key, row;
  } slots[14];
};

class Dimension {
 public:
  explicit Dimension(uint64_t count)
      : buckets_(count / 8 + 1),
        table_(kind::array<Bucket>("dimension keys", buckets_)),
        rows_(kind::array<Row>("dimensions", count)) {
    for (uint64_t i = 0; i < count; ++i) {
      rows_[i].keys[0] = i;
      rows_[i].keys[1] = i * 0x9E3779B97F4A7C15u >> 40;
      for (uint64_t at = place(i);; at = (at + 1) % buckets_)
        if (table_[at].used < 14) {
          Bucket& bucket = table_[at];
          bucket.fingers[bucket.used] = finger(i);
          bucket.slots[bucket.used++] = {i, i};
          break;
        }
    }
  }
  const Row* find(uint64_t key) const {
    for (uint64_t at = place(key);; at = (at + 1) % buckets_) {
      const Bucket& bucket = table_[at];
      for (uint8_t s = 0; s < bucket.used; ++s)
        if (bucket.fingers[s] == finger(key) && bucket.slots[s].key == key)
          return rows_ + bucket.slots[s].row;
      if (bucket.used < 14) return nullptr;
    }
  }

 private:
  static uint64_t hash(uint64_t key) { return (key + 1) * 0x9E3779B97F4A7C15u; }
  static uint8_t finger(uint64_t key) { return static_cast<uint8_t>(hash(key)); }
  uint64_t place(uint64_t key) const { return (hash(key) >> 16) % buckets_; }

  uint64_t buckets_;
  Bucket* table_;
  Row* rows_;
};

}  // namespace

int main(int argc, char** argv) {
  const uint64_t rows = kind::number(argc, argv, 1);
  constexpr uint64_t DATES = 2556;
  constexpr uint64_t SUPPLIERS = 200'000;
  constexpr uint64_t PARTS = 1'400'000;
  Row* facts = kind::array<Row>("facts", rows);
  const Dimension dates(DATES);
  const Dimension suppliers(SUPPLIERS);
  const Dimension parts(PARTS);
  kind::Dice dice(8);
  for (uint64_t i = 0; i < rows; ++i) {
    facts[i].keys[0] = dice.below(DATES);
    facts[i].keys[1] = dice.below(SUPPLIERS);
    facts[i].keys[2] = dice.below(PARTS);
  }
  struct Joined {
    uint64_t brand, year, revenue;
  };
  Joined* joined = kind::array<Joined>("joined", rows / 64 + 64);
  kind::measure(rows, [&] {
    uint64_t count = 0;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < rows; ++i) {
      const Row& fact = facts[i];
      // A second-level cache fetches lines in pairs: the other line of the row comes too.
      sum += static_cast<uint64_t>(fact.rest[64]);
      const Row* date = dates.find(fact.keys[0]);
      if (date == nullptr) continue;
      const Row* supplier = suppliers.find(fact.keys[1]);
      if (supplier == nullptr || supplier->keys[1] % 5 != 0) continue;  // one region of five
      const Row* part = parts.find(fact.keys[2]);
      if (part == nullptr || part->keys[1] % 25 != 0) continue;  // one category of 25
      joined[count++ % (rows / 64)] = {part->keys[1], date->keys[1], fact.keys[3]};
    }
    kind::sink = count + sum;
  });
}
