// Compares the sets with std::set on the heap; in a pool the algorithms are the same.
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
  std::set<std::int64_t> keys;
  set.for_each([&](std::int64_t key) { CHECK(keys.insert(key).second); });
  return keys;
}

}  // namespace

TEST_CASE_TEMPLATE("a set behaves like std::set", Set, List<HeapMemory, Safety::safe>,
                   HashSet<HeapMemory, Safety::safe>, SkipList<HeapMemory, Safety::safe>) {
  constexpr std::uint64_t range = 200;
  OnHeap<Set> heap(8);  // 8 buckets make chains; levels for 8 keys make long searches
  std::set<std::int64_t> model;
  Requests requests(7, range, 80, false);
  SplitMix draw(1);
  for (int i = 0; i < 5000; ++i) {
    const auto [verb, key] = requests.next();
    if (verb == Verb::insert) {
      REQUIRE(heap.set.insert(key, draw) == model.insert(key).second);
    } else if (verb == Verb::remove) {
      REQUIRE(heap.set.remove(key) == (model.erase(key) == 1));
    } else {
      REQUIRE(heap.set.contains(key) == model.contains(key));
    }
    if (i % 500 == 0) REQUIRE(heap.set.check(range) == "");
  }
  CHECK(content(heap.set) == model);
  CHECK(heap.set.check(range) == "");
  CHECK_FALSE(heap.set.check(model.size() - 1).empty());  // more keys than allowed
}

TEST_CASE("a skip list has enough levels for its keys") {
  using Set = SkipList<HeapMemory, Safety::safe>;
  CHECK(Set::levels_for(1) == 1);
  CHECK(Set::levels_for(256) == 5);
  // A quarter of the nodes reach the next level: of a million, one to four reach level 10.
  CHECK(Set::levels_for(1'000'000) == 10);
  CHECK(Set::levels_for(~0ULL) == Set::max_levels);
}

TEST_CASE("requests have the requested shares and are reproducible") {
  constexpr int draws = 100'000;
  Requests first(3, 1000, 50, false);
  Requests second(3, 1000, 50, false);
  int updates = 0;
  int inserts = 0;
  for (int i = 0; i < draws; ++i) {
    const Request request = first.next();
    const Request again = second.next();
    REQUIRE(request.key == again.key);
    REQUIRE(request.key >= 0);
    REQUIRE(request.key < 1000);
    if (request.verb != Verb::look_up) ++updates;
    if (request.verb == Verb::insert) ++inserts;
  }
  CHECK(updates == doctest::Approx(draws / 2.0).epsilon(0.02));
  CHECK(inserts == doctest::Approx(draws / 4.0).epsilon(0.03));
}

TEST_CASE("removing the last inserted key keeps the size") {
  Requests requests(5, 100, 100, true);
  std::set<std::int64_t> keys;
  for (int i = 0; i < 1000; ++i) {
    const Request request = requests.next();
    const bool changed = request.verb == Verb::insert ? keys.insert(request.key).second
                                                      : keys.erase(request.key) == 1;
    if (request.verb == Verb::remove) CHECK(changed);
    requests.record_outcome(request.verb, changed);
    CHECK(keys.size() <= 1);
  }
}

TEST_CASE("the tally keeps the sum of the hashes of all keys") {
  Tally tally;
  tally.add({Verb::insert, 4}, true);
  tally.add({Verb::insert, 9}, true);
  tally.add({Verb::remove, 4}, true);
  tally.add({Verb::insert, 9}, false);
  CHECK(tally.requests == 4);
  CHECK(tally.content == Tally::hash(9));
}
