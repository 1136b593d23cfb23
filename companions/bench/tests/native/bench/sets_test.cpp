// The sets against std::set, on the heap: the algorithms are the same in a pool.
#include <doctest/doctest.h>

#include <set>

#include "bench/intset/hash_set.hpp"
#include "bench/intset/heap_memory.hpp"
#include "bench/intset/list.hpp"
#include "bench/intset/requests.hpp"
#include "bench/intset/skip_list.hpp"

using namespace nearfar::bench;

namespace {

template <typename Set>
struct OnHeap {
  explicit OnHeap(std::uint64_t scale)
      : set(memory, *static_cast<typename Set::Root*>(memory.root(sizeof(typename Set::Root))),
            scale) {}
  ~OnHeap() { set.clear(); }
  HeapMemory memory;
  Set set;
};

template <typename Set>
std::set<std::int64_t> content(const Set& set) {
  std::set<std::int64_t> found;
  set.for_each([&](std::int64_t key) { CHECK(found.insert(key).second); });
  return found;
}

}  // namespace

TEST_CASE_TEMPLATE("a set answers as std::set does", Set, List<HeapMemory, Safety::safe>,
                   HashSet<HeapMemory, Safety::safe>, SkipList<HeapMemory, Safety::safe>) {
  constexpr std::uint64_t range = 200;
  OnHeap<Set> one(8);  // 8 buckets: chains; levels for 8 keys: long ways on the highest
  std::set<std::int64_t> model;
  Requests requests(7, range, 80, false);
  SplitMix draw(1);
  for (int i = 0; i < 5000; ++i) {
    const auto [verb, key] = requests.next();
    if (verb == Verb::insert) {
      REQUIRE(one.set.insert(key, draw) == model.insert(key).second);
    } else if (verb == Verb::remove) {
      REQUIRE(one.set.remove(key) == (model.erase(key) == 1));
    } else {
      REQUIRE(one.set.contains(key) == model.contains(key));
    }
    if (i % 500 == 0) REQUIRE(one.set.check(range) == "");
  }
  CHECK(content(one.set) == model);
  CHECK(one.set.check(range) == "");
  CHECK_FALSE(one.set.check(model.size() - 1).empty());  // more than there can be
}

TEST_CASE("a skip list has enough levels for its keys") {
  using Set = SkipList<HeapMemory, Safety::safe>;
  CHECK(Set::levels_for(1) == 1);
  CHECK(Set::levels_for(256) == 5);
  // A quarter of the nodes reach each level: of a million, one to four reach the tenth.
  CHECK(Set::levels_for(1'000'000) == 10);
  CHECK(Set::levels_for(~0ULL) == Set::most_levels);
}

TEST_CASE("requests have the shares that were asked for, and can be repeated") {
  constexpr int many = 100'000;
  Requests one(3, 1000, 50, false);
  Requests other(3, 1000, 50, false);
  int updates = 0;
  int inserts = 0;
  for (int i = 0; i < many; ++i) {
    const Request request = one.next();
    const Request again = other.next();
    REQUIRE(request.key == again.key);
    REQUIRE(request.key >= 0);
    REQUIRE(request.key < 1000);
    if (request.verb != Verb::look_up) ++updates;
    if (request.verb == Verb::insert) ++inserts;
  }
  CHECK(updates == doctest::Approx(many / 2.0).epsilon(0.02));
  CHECK(inserts == doctest::Approx(many / 4.0).epsilon(0.03));
}

TEST_CASE("removing what was inserted last keeps the size") {
  Requests requests(5, 100, 100, true);
  std::set<std::int64_t> there;
  for (int i = 0; i < 1000; ++i) {
    const Request request = requests.next();
    const bool changed = request.verb == Verb::insert ? there.insert(request.key).second
                                                      : there.erase(request.key) == 1;
    if (request.verb == Verb::remove) CHECK(changed);
    requests.came_of(request.verb, changed);
    CHECK(there.size() <= 1);
  }
}

TEST_CASE("the sum of hashes tells a lost key from none") {
  Tally tally;
  tally.add({Verb::insert, 4}, true);
  tally.add({Verb::insert, 9}, true);
  tally.add({Verb::remove, 4}, true);
  tally.add({Verb::insert, 9}, false);
  CHECK(tally.requests == 4);
  CHECK(tally.content == Tally::hash(9));
}
