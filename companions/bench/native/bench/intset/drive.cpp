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

// Few keys and buckets, so that chains, neighbours and levels meet; removals as often as inserts.
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
std::uint64_t content_of(const Set& set, std::uint64_t most) {
  if (const std::string wrong = set.check(most); !wrong.empty()) {
    throw WrongContent("the " + std::string(Set::name) + " is broken: " + wrong);
  }
  std::uint64_t content = 0;
  set.for_each([&](std::int64_t key) { content += Tally::hash(key); });
  return content;
}

// All three contents as one number.
std::uint64_t joined(const std::array<std::uint64_t, kinds_of_set>& contents) {
  std::uint64_t all = 0;
  for (const std::uint64_t each : contents) all = SplitMix::mix(all + each + 1);
  return all;
}

// What the sets hold after each number of operations, none included.
std::unordered_set<std::uint64_t> prefixes(std::uint64_t seed, std::uint64_t operations) {
  std::array<std::set<std::int64_t>, kinds_of_set> model;
  std::array<std::uint64_t, kinds_of_set> contents{};
  std::unordered_set<std::uint64_t> found{joined(contents)};
  Requests requests = requests_of(seed);
  for (std::uint64_t i = 0; i < operations; ++i) {
    const Request request = requests.next();
    const std::size_t which = i % kinds_of_set;
    if (request.verb == Verb::insert && model[which].insert(request.key).second) {
      contents[which] += Tally::hash(request.key);
    } else if (request.verb == Verb::remove && model[which].erase(request.key) == 1) {
      contents[which] -= Tally::hash(request.key);
    }
    found.insert(joined(contents));
  }
  return found;
}

// It must still work: a key above the range comes and goes.
template <typename Set>
void use(Set& set, std::uint64_t above) {
  const auto key = static_cast<std::int64_t>(above);
  SplitMix draw(1);
  if (!set.insert(key, draw) || !set.contains(key) || !set.remove(key) || set.contains(key)) {
    throw WrongContent("the " + std::string(Set::name) +
                       " looks sound, and a key cannot be put into it and taken out again");
  }
}

template <typename Reference>
void check_as(const std::string& path) {
  SetPool<Reference> pool;
  pool.open(path);
  SetRoot<Reference>& root = pool.root();
  if (root.buckets == 0) return;  // cut off while it was made: drive would begin anew
  Sets<Reference> sets(pool);
  const std::array<std::uint64_t, kinds_of_set> contents{content_of(sets.list, root.range),
                                                         content_of(sets.hash, root.range),
                                                         content_of(sets.skip, root.range)};
  if (root.seed != 0 && !prefixes(root.seed, root.operations).contains(joined(contents))) {
    throw WrongContent("the sets hold what no number of their " + std::to_string(root.operations) +
                       " operations leaves");
  }
  use(sets.list, root.range);
  use(sets.hash, root.range);
  use(sets.skip, root.range);
}

template <typename Reference>
void dump_as(const std::string& path) {
  SetPool<Reference> pool;
  pool.open(path);
  SetRoot<Reference>& root = pool.root();
  if (root.buckets == 0) return;
  Sets<Reference> sets(pool);
  std::uint64_t which = 0;
  const auto print = [&](const auto& set) {
    (void)content_of(set, root.range);
    set.for_each([&](std::int64_t key) {
      std::printf("%llu\n", static_cast<unsigned long long>(which * root.range) + key);
    });
    ++which;
  };
  print(sets.list);
  print(sets.hash);
  print(sets.skip);
  use(sets.list, root.range);
  use(sets.hash, root.range);
  use(sets.skip, root.range);
}

bool has_offsets(const std::string& path) {
  // libpmemobj keeps the layout's name in the second page of a pool.
  constexpr std::streamoff layout_at = 4096;
  std::ifstream file(path, std::ios::binary);
  std::string layout(SetPool<Offset>::layout().size(), '\0');
  file.seekg(layout_at).read(layout.data(), static_cast<std::streamsize>(layout.size()));
  return layout == SetPool<Offset>::layout();
}

}  // namespace

void drive_sets(const std::string& path, std::uint64_t operations, std::uint64_t seed) {
  SetPool<Pmemoid> pool;
  const std::uint64_t odd_seed = seed == 0 ? 1 : seed;  // 0 says that nothing is known
  const bool fresh = cleared_to_make(path);
  if (fresh) {
    pool.make(path, {PMEMOBJ_MIN_POOL}, range, buckets, odd_seed, operations);
  } else {
    pool.open(path);
    pool.begin(range, buckets);
  }
  Sets<Pmemoid> sets(pool);
  Requests requests = requests_of(odd_seed);
  SplitMix draw(seed);
  for (std::uint64_t i = 0; i < operations; ++i) {
    const Request request = requests.next();
    const std::uint64_t which = i % kinds_of_set;
    NEARFAR_CRASH_OP(name_of(request.verb), which * range + request.key, 0);
    const bool done = which == 0   ? apply(sets.list, request, draw)
                      : which == 1 ? apply(sets.hash, request, draw)
                                   : apply(sets.skip, request, draw);
    NEARFAR_CRASH_OUTCOME(done);
  }
}

void dump_sets(const std::string& path) {
  if (nothing_to_check(path)) return;
  if (has_offsets(path)) {
    dump_as<Offset>(path);
  } else {
    dump_as<Pmemoid>(path);
  }
}

void check_sets(const std::string& path) {
  if (nothing_to_check(path)) return;
  if (has_offsets(path)) {
    check_as<Offset>(path);
  } else {
    check_as<Pmemoid>(path);
  }
}

}  // namespace nearfar::bench

#endif
