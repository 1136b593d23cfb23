// Stores that persist what they write.
//   store overwrite KEYS OPERATIONS VALUE_BYTES | log OPERATIONS VALUE_BYTES | memtable OPERATIONS
//   VALUE_BYTES
// overwrite: a concurrent hash map in persistent memory gets new values, as pmemkv's cmap does, in
// transactions that copy the old value to an undo log first;
// log: entries are appended and flushed to a log, then put into a volatile sorted table;
// memtable: entries are put into a skip list in persistent memory.
#include <emmintrin.h>

#include <map>
#include <vector>

#include "kind.hpp"

namespace {

void persist(const void* from, uint64_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(from) & ~uintptr_t{63};
  for (uintptr_t line = begin; line < reinterpret_cast<uintptr_t>(from) + bytes; line += 64)
    _mm_clflush(reinterpret_cast<const void*>(line));
  _mm_sfence();
}

// Stores that pass the caches, in whole lines.
void stream(char* to, const char* from, uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
}

// The undo log of a libpmemobj transaction: a part in the pool's lane, and one more for what is
// longer. Each entry ends at a line of zeros, which is written before it.
class UndoLog {
 public:
  explicit UndoLog(uint64_t bytes)
      : lane_(kind::array<char>("far log", LANE)),
        longer_(kind::array<char>("far log", bytes + 2 * LINE)) {}
  // Keeps what is at `from`: two fences for each part.
  void snapshot(const char* from, uint64_t bytes) {
    const uint64_t first = bytes < LANE - 2 * LINE ? bytes : LANE - 2 * LINE;
    entry(lane_, from, first / LINE * LINE);
    if (bytes > first) entry(longer_, from + first, (bytes - first) / LINE * LINE);
  }
  // Makes the log void once the data are durable.
  void discard() {
    ++generation_;
    memcpy(lane_, &generation_, sizeof generation_);
    persist(lane_, sizeof generation_);
  }

 private:
  static constexpr uint64_t LINE = 64;
  static constexpr uint64_t LANE = 2048;

  void entry(char* to, const char* from, uint64_t bytes) {
    stream(to + LINE + bytes, zeros_, LINE);
    _mm_sfence();
    stream(to + LINE, from, bytes);
    stream(to, zeros_, LINE);
    _mm_sfence();
  }

  alignas(64) char zeros_[LINE] = {};
  char* lane_;
  char* longer_;
  uint64_t generation_ = 0;
};

void overwrite(uint64_t keys, uint64_t operations, uint64_t bytes) {
  struct Entry {  // as a node of the hash map: a lock, the key, where the value lies
    uint64_t lock[8], key, next, value, size;
  };
  uint64_t* buckets = kind::array<uint64_t>("far buckets", keys);
  Entry* entries = kind::array<Entry>("far entries", keys + 1);
  char* values = kind::array<char>("far values", (keys + 1) * bytes);
  UndoLog log(bytes);
  std::vector<char> given(bytes, 'v');
  std::vector<char> temporary(bytes);
  for (uint64_t k = 1; k <= keys; ++k) {
    uint64_t& head = buckets[k * 0x9E3779B97F4A7C15u % keys];
    entries[k] = {{}, k, head, k * bytes, bytes};
    head = k;
  }
  kind::measure(operations, [&] {
    kind::Dice dice(9);
    for (uint64_t i = 0; i < operations; ++i) {
      memcpy(temporary.data(), given.data(), bytes);  // put() makes a string of the value first
      const uint64_t key = 1 + dice.below(keys);
      uint64_t at = buckets[key * 0x9E3779B97F4A7C15u % keys];
      while (entries[at].key != key) at = entries[at].next;
      ++entries[at].lock[0];
      char* value = values + entries[at].value;
      log.snapshot(value, entries[at].size);
      memcpy(value, temporary.data(), bytes);
      persist(value, bytes);
      _mm_sfence();
      log.discard();
      --entries[at].lock[0];
    }
  });
}

void log_entries(uint64_t operations, uint64_t bytes) {
  char* log = kind::array<char>("far log", operations * (bytes + 24));
  std::vector<char> given(bytes, 'v');
  kind::measure(operations, [&] {
    std::map<uint64_t, uint64_t> table;
    kind::Dice dice(10);
    for (uint64_t i = 0; i < operations; ++i) {
      char* entry = log + i * (bytes + 24);
      const uint64_t key = dice.next();
      memcpy(entry, &key, sizeof key);
      memcpy(entry + 24, given.data(), bytes);
      persist(entry, bytes + 24);
      table[key] = i;
    }
    kind::sink = table.size();
  });
}

void memtable(uint64_t operations, uint64_t bytes) {
  constexpr uint64_t LEVELS = 12;
  struct Node {
    uint64_t key, next[LEVELS];
  };
  Node* nodes = kind::array<Node>("far nodes", operations + 1);
  char* values = kind::array<char>("far values", (operations + 1) * bytes);
  std::vector<char> given(bytes, 'v');
  kind::measure(operations, [&] {
    memset(nodes, 0, sizeof(Node));
    kind::Dice dice(11);
    for (uint64_t i = 1; i <= operations; ++i) {
      const uint64_t key = dice.next();
      uint64_t before[LEVELS];
      uint64_t at = 0;
      for (uint64_t level = LEVELS; level-- > 0;) {
        while (nodes[at].next[level] != 0 && nodes[nodes[at].next[level]].key < key)
          at = nodes[at].next[level];
        before[level] = at;
      }
      memcpy(values + i * bytes, given.data(), bytes);
      persist(values + i * bytes, bytes);
      nodes[i].key = key;
      const auto height = static_cast<uint64_t>(__builtin_ctzll(dice.next() | 1ull << 22)) / 2 + 1;
      for (uint64_t level = 0; level < LEVELS && level < height; ++level)
        nodes[i].next[level] = nodes[before[level]].next[level];
      persist(&nodes[i], sizeof(Node));
      for (uint64_t level = 0; level < LEVELS && level < height; ++level) {
        nodes[before[level]].next[level] = i;
        persist(&nodes[before[level]].next[level], 8);
      }
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  const char* kernel = kind::word(argc, argv, 1);
  if (strcmp(kernel, "overwrite") == 0)
    overwrite(kind::number(argc, argv, 2), kind::number(argc, argv, 3),
              kind::number(argc, argv, 4));
  else if (strcmp(kernel, "log") == 0)
    log_entries(kind::number(argc, argv, 2), kind::number(argc, argv, 3));
  else
    memtable(kind::number(argc, argv, 2), kind::number(argc, argv, 3));
}
