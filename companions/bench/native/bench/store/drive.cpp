#ifdef NEARFAR_HAVE_PMEM

#include "bench/store/drive.hpp"

#include <nearfar/crash.h>

#include <algorithm>
#include <array>
#include <random>

#include "bench/driven_pool.hpp"
#include "bench/pattern.hpp"
#include "bench/store/key_value.hpp"

namespace nearfar::bench {
namespace {

constexpr const char* layout = "nearfar-store-1 driven";
constexpr std::uint64_t keys = 8;
constexpr std::uint64_t slots = 32;
constexpr std::uint64_t words = 12;  // two lines with the key: a value can be torn
constexpr Bytes log_bytes{8192};
// More than a driver reaches.
constexpr std::uint64_t max_versions = 100'000;

using Value = std::array<std::uint64_t, words>;

// Returns the version of a key's value.
std::uint64_t version_of(std::uint64_t key, std::span<const std::uint64_t> value) {
  for (std::uint64_t version = 1; version < max_versions; ++version) {
    if (value[0] == first_word(key, version)) {
      if (is_filled(value, key, version)) return version;
      break;
    }
  }
  throw WrongContent("key " + std::to_string(key) + " has no complete value of its own");
}

std::uint64_t version_in(const KeyValue& table, std::uint64_t key) {
  const std::uint64_t* value = table.get(key);
  return value == nullptr ? 0 : version_of(key, {value, words});
}

}  // namespace

void drive_store(const std::string& path, std::uint64_t operations, std::uint64_t seed) {
  RawPool pool;
  if (open_or_make(pool, path, layout, KeyValue::bytes_for(log_bytes, slots, words))) pool.seal();
  KeyValue table(pool, log_bytes, slots, words);
  recover(table);
  std::mt19937_64 random(seed);
  Value value;
  for (std::uint64_t i = 0; i < operations; ++i) {
    const std::uint64_t key = random() % keys;
    const std::uint64_t version = version_in(table, key) + 1;
    fill(value, key, version);
    NEARFAR_CRASH_OP("insert", key, version);
    (void)table.put(key, value);
    NEARFAR_CRASH_OUTCOME(1);
  }
  table.close();
}

namespace {

// Calls `visit(key, version)` for each key, then tests whether a put still works.
template <typename Visit>
void visit_keys(const std::string& path, Visit visit) {
  if (is_unfinished(path)) return;
  RawPool pool;
  pool.open(path, layout);
  KeyValue table(pool, log_bytes, slots, words);
  recover(table);
  table.for_each([&](std::uint64_t key, std::span<const std::uint64_t> value) {
    if (key >= keys) throw WrongContent("the store contains a key that was never put");
    visit(key, version_of(key, value));
  });
  Value value;
  const std::uint64_t version = version_in(table, 0) + 1;
  fill(value, 0, version);
  if (!table.put(0, value) || version_in(table, 0) != version) {
    throw WrongContent("the store is valid, but a value cannot be put into it");
  }
}

}  // namespace

void check_store(const std::string& path) {
  visit_keys(path, [](std::uint64_t, std::uint64_t) {});
}

void dump_store(const std::string& path) { visit_keys(path, print_version); }

}  // namespace nearfar::bench

#endif
