#include "bench/intset/drive.hpp"

#ifdef NEARFAR_HAVE_PMEM

#include <nearfar/crash.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <set>
#include <unordered_set>

#include "bench/driven_pool.hpp"
#include "bench/errors.hpp"
#include "bench/intset/requests.hpp"
#include "bench/intset/set_pool.hpp"

namespace nearfar::bench {
namespace {

// Few keys and buckets, so that chains, neighbours and levels collide; removals are as frequent as
// inserts.
constexpr std::uint64_t range = 64;
constexpr std::uint64_t buckets = 8;
constexpr double updates_percent = 80;

template <typename Reference>
struct Sets {
  using Memory = ObjectMemory<Reference>;
  explicit Sets(SetPool<Reference>& pool)
      : list(pool.memory(), pool.root().list, pool.root().range),
        hash(pool.memory(), pool.root().hash, pool.root().buckets),
        skip(pool.memory(), pool.root().skip, pool.root().range) {}
  List<Memory, Safety::safe> list;
  HashSet<Memory, Safety::safe> hash;
  SkipList<Memory, Safety::safe> skip;
};

constexpr std::size_t kinds_of_set = 3;

Requests requests_of(std::uint64_t seed) { return {seed, range, updates_percent, false}; }

const char* name_of(Verb verb) {
  switch (verb) {
    case Verb::look_up:
      return "get";
    case Verb::insert:
      return "insert";
    case Verb::remove:
      return "remove";
  }
  return "get";
}

template <typename Set>
std::uint64_t content_of(const Set& set, std::uint64_t max_elements) {
  if (const std::string wrong = set.check(max_elements); !wrong.empty()) {
    throw WrongContent("the " + std::string(Set::name) + " is broken: " + wrong);
  }
  std::uint64_t content = 0;
  set.for_each([&](std::int64_t key) { content += Tally::hash(key); });
  return content;
}

// Combines the three contents into one number.
std::uint64_t combined(const std::array<std::uint64_t, kinds_of_set>& contents) {
  std::uint64_t all = 0;
  for (const std::uint64_t content : contents) all = SplitMix::mix(all + content + 1);
  return all;
}

// Returns the combined contents after each number of operations, 0 included.
std::unordered_set<std::uint64_t> prefixes(std::uint64_t seed, std::uint64_t operations) {
  std::array<std::set<std::int64_t>, kinds_of_set> model;
  std::array<std::uint64_t, kinds_of_set> contents{};
  std::unordered_set<std::uint64_t> contents_after{combined(contents)};
  Requests requests = requests_of(seed);
  for (std::uint64_t i = 0; i < operations; ++i) {
    const Request request = requests.next();
    const std::size_t set_index = i % kinds_of_set;
    if (request.verb == Verb::insert && model[set_index].insert(request.key).second) {
      contents[set_index] += Tally::hash(request.key);
    } else if (request.verb == Verb::remove && model[set_index].erase(request.key) == 1) {
      contents[set_index] -= Tally::hash(request.key);
    }
    contents_after.insert(combined(contents));
  }
  return contents_after;
}

// Tests whether the set still works, with a key above the range.
template <typename Set>
void test_set(Set& set, std::uint64_t above) {
  const auto key = static_cast<std::int64_t>(above);
  SplitMix draw(1);
  if (!set.insert(key, draw) || !set.contains(key) || !set.remove(key) || set.contains(key)) {
    throw WrongContent("the " + std::string(Set::name) +
                       " is valid, but a key cannot be inserted into it and removed");
  }
}

template <typename Reference>
void check_as(const std::string& path) {
  SetPool<Reference> pool;
  pool.open(path);
  SetRoot<Reference>& root = pool.root();
  if (root.buckets == 0) return;  // creation was interrupted: drive would restart
  Sets<Reference> sets(pool);
  const std::array<std::uint64_t, kinds_of_set> contents{content_of(sets.list, root.range),
                                                         content_of(sets.hash, root.range),
                                                         content_of(sets.skip, root.range)};
  if (root.seed != 0 && !prefixes(root.seed, root.operations).contains(combined(contents))) {
    throw WrongContent("the sets' content does not follow from any number of their " +
                       std::to_string(root.operations) + " operations");
  }
  test_set(sets.list, root.range);
  test_set(sets.hash, root.range);
  test_set(sets.skip, root.range);
}

template <typename Reference>
void dump_as(const std::string& path) {
  SetPool<Reference> pool;
  pool.open(path);
  SetRoot<Reference>& root = pool.root();
  if (root.buckets == 0) return;
  Sets<Reference> sets(pool);
  std::uint64_t set_index = 0;
  const auto print = [&](const auto& set) {
    (void)content_of(set, root.range);
    set.for_each([&](std::int64_t key) {
      std::printf("%llu\n", static_cast<unsigned long long>(set_index * root.range) + key);
    });
    ++set_index;
  };
  print(sets.list);
  print(sets.hash);
  print(sets.skip);
  test_set(sets.list, root.range);
  test_set(sets.hash, root.range);
  test_set(sets.skip, root.range);
}

bool has_offsets(const std::string& path) {
  // libpmemobj stores the layout's name in the second page of a pool.
  constexpr std::streamoff layout_offset = 4096;
  std::ifstream file(path, std::ios::binary);
  std::string layout(SetPool<Offset>::layout().size(), '\0');
  file.seekg(layout_offset).read(layout.data(), static_cast<std::streamsize>(layout.size()));
  return layout == SetPool<Offset>::layout();
}

}  // namespace

void drive_sets(const std::string& path, std::uint64_t operations, std::uint64_t seed) {
  SetPool<Pmemoid> pool;
  const std::uint64_t nonzero_seed = seed == 0 ? 1 : seed;  // 0 means unknown content
  const bool created = remove_unfinished(path);
  if (created) {
    pool.make(path, {PMEMOBJ_MIN_POOL}, range, buckets, nonzero_seed, operations);
  } else {
    pool.open(path);
    pool.begin(range, buckets);
  }
  Sets<Pmemoid> sets(pool);
  Requests requests = requests_of(nonzero_seed);
  SplitMix draw(seed);
  for (std::uint64_t i = 0; i < operations; ++i) {
    const Request request = requests.next();
    const std::uint64_t set_index = i % kinds_of_set;
    NEARFAR_CRASH_OP(name_of(request.verb), set_index * range + request.key, 0);
    const bool changed = set_index == 0   ? apply(sets.list, request, draw)
                         : set_index == 1 ? apply(sets.hash, request, draw)
                                          : apply(sets.skip, request, draw);
    NEARFAR_CRASH_OUTCOME(changed);
  }
}

void dump_sets(const std::string& path) {
  if (is_unfinished(path)) return;
  if (has_offsets(path)) {
    dump_as<Offset>(path);
  } else {
    dump_as<Pmemoid>(path);
  }
}

void check_sets(const std::string& path) {
  if (is_unfinished(path)) return;
  if (has_offsets(path)) {
    check_as<Offset>(path);
  } else {
    check_as<Pmemoid>(path);
  }
}

}  // namespace nearfar::bench

#endif
