// A query of the star schema benchmark by hand: rows of the fact table are scanned, three
// dimensions are probed, and revenue is added up by group.
//   star ROWS
#include <vector>

#include "kind.hpp"

namespace {

struct Fact {  // 128 bytes, as a row store keeps them
  uint32_t customer, part, supplier, date;
  char between[80];
  uint32_t quantity, discount, revenue, cost;
  char rest[16];
};

uint8_t* dimension(uint64_t count, kind::Dice& dice) {
  uint8_t* groups = kind::array<uint8_t>("dimensions", count);
  for (uint64_t i = 0; i < count; ++i)
    groups[i] = static_cast<uint8_t>(dice.below(5) == 0 ? 1 + dice.below(7) : 0);
  return groups;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t rows = kind::number(argc, argv, 1);
  Fact* facts = kind::array<Fact>("facts", rows);
  constexpr uint64_t CUSTOMERS = 300000;
  constexpr uint64_t PARTS = 200000;
  constexpr uint64_t SUPPLIERS = 20000;
  kind::Dice dice(8);
  const uint8_t* customers = dimension(CUSTOMERS, dice);
  const uint8_t* parts = dimension(PARTS, dice);
  const uint8_t* suppliers = dimension(SUPPLIERS, dice);
  for (uint64_t i = 0; i < rows; ++i)
    facts[i] = {static_cast<uint32_t>(dice.below(CUSTOMERS)),
                static_cast<uint32_t>(dice.below(PARTS)),
                static_cast<uint32_t>(dice.below(SUPPLIERS)),
                static_cast<uint32_t>(dice.below(7)),
                {},
                static_cast<uint32_t>(i % 50),
                5,
                static_cast<uint32_t>(dice.below(1000)),
                3,
                {}};
  std::vector<uint64_t> revenue(8 * 8, 0);
  kind::measure(rows, [&] {
    for (uint64_t i = 0; i < rows; ++i) {
      const Fact& fact = facts[i];
      const uint8_t from = suppliers[fact.supplier];
      if (fact.quantity == 49 || from == 0) continue;
      const uint8_t to = customers[fact.customer];
      if (to == 0 || parts[fact.part] == 0) continue;
      revenue[static_cast<uint64_t>(to) * 8 + fact.date] += fact.revenue - fact.cost;
    }
  });
  kind::sink = revenue[9];
}
