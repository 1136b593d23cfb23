// Redis in kind: records of ten fields as hashes within a hash table, requests as YCSB makes them.
//   keyvalue RECORDS OPERATIONS a|b|c|d
// a: half reads, half updates of a field; b: 95 % reads; c: reads; d: 95 % reads of recent records,
// updates of those in place of inserts. Keys follow a power law, scrambled; a read copies all
// fields into a reply.
#include <cmath>
#include <vector>

#include "kind.hpp"

namespace {

constexpr uint64_t FIELDS = 10;
constexpr uint64_t VALUE_BYTES = 100;

struct Field {  // an entry of the inner table, its name and its value are blocks of their own
  Field* next;
  char* name;
  char* value;
};

struct Record {
  Record* next;
  char* key;
  Field* fields[16];
};

// Blocks in an order without locality, as an allocator leaves them after many updates.
template <typename Block>
class Blocks {
 public:
  Blocks(const char* tag, uint64_t count, uint64_t each, uint64_t seed)
      : memory_(kind::array<Block>(tag, count * each)), each_(each), order_(count) {
    kind::Dice dice(seed);
    for (uint64_t i = 0; i < count; ++i) order_[i] = static_cast<uint32_t>(i);
    for (uint64_t i = count; i-- > 1;) std::swap(order_[i], order_[dice.below(i + 1)]);
  }
  Block* next() { return memory_ + each_ * order_[taken_++]; }

 private:
  Block* memory_;
  uint64_t each_;
  uint64_t taken_ = 0;
  std::vector<uint32_t> order_;
};

}  // namespace

int main(int argc, char** argv) {
  const uint64_t records = kind::number(argc, argv, 1);
  const uint64_t operations = kind::number(argc, argv, 2);
  const char workload = static_cast<char>(kind::word(argc, argv, 3)[0] | 0x20);
  const double reads = workload == 'a' ? 0.5 : workload == 'c' ? 1.0 : 0.95;
  // A twentieth of d's requests insert; the requests are made twice.
  const uint64_t most = records + (workload == 'd' ? operations / 8 : 0);
  Record** table = kind::array<Record*>("table", records);
  Blocks<Record> rows("records", most, 1, 1);
  Blocks<char> keys("keys", most, 32, 2);
  Blocks<Field> fields("fields", most * FIELDS, 1, 3);
  Blocks<char> names("names", most * FIELDS, 16, 4);
  Blocks<char> values("values", most * FIELDS, VALUE_BYTES + 12, 5);
  const auto place = [&](uint64_t key) { return key * 0x9E3779B97F4A7C15u % records; };
  char* request = kind::array<char>("request", 16384);
  uint64_t count = 0;
  const auto insert = [&] {
    const uint64_t key = count++;
    Record* row = rows.next();
    row->key = keys.next();
    memcpy(row->key, &key, sizeof key);
    row->next = table[place(key)];
    table[place(key)] = row;
    for (uint64_t f = 0; f < FIELDS; ++f) {
      Field* field = fields.next();
      field->name = names.next();
      field->value = values.next();
      field->name[0] = static_cast<char>(f);
      memcpy(field->value, request, VALUE_BYTES);
      field->next = row->fields[f * 7 % 16];
      row->fields[f * 7 % 16] = field;
    }
  };
  while (count < records) insert();
  char* reply = kind::array<char>("reply", 16384);
  kind::measure(operations, [&] {
    kind::Dice dice(6);
    for (uint64_t i = 0; i < operations; ++i) {
      const double rank = std::pow(static_cast<double>(count), dice.unit());
      const auto recent = static_cast<uint64_t>(rank) % count;
      const uint64_t key = workload == 'd' ? count - 1 - recent : recent * 0x9E3779B1u % count;
      Record* row = table[place(key)];
      while (row != nullptr && memcmp(row->key, &key, sizeof key) != 0) row = row->next;
      if (row == nullptr) continue;
      const bool read = dice.unit() < reads;
      if (!read && workload == 'd') {
        if (count < most) insert();
        continue;
      }
      if (read) {
        char* out = reply;
        for (Field* first : row->fields)
          for (const Field* field = first; field != nullptr; field = field->next) {
            *out++ = field->name[0];
            memcpy(out, field->value, VALUE_BYTES);
            out += VALUE_BYTES;
          }
      } else {
        const uint64_t wanted = dice.below(FIELDS);
        Field* field = row->fields[wanted * 7 % 16];
        while (field->name[0] != static_cast<char>(wanted)) field = field->next;
        memcpy(field->value, request, VALUE_BYTES);
      }
    }
  });
  kind::sink = static_cast<uint64_t>(reply[1]);
}
