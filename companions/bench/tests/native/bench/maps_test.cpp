// Compares every map, volatile and in a pool, with std::map: same operations, same content.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <random>
#include <string>

#include "bench/errors.hpp"
#include "bench/maps/hash.hpp"
#include "bench/maps/map.hpp"

using namespace nearfar::bench;

namespace {

using Model = std::map<std::uint64_t, std::uint64_t>;

std::string new_pool() {
  static int pools = 0;
  return "/dev/shm/nearfar-maps-test-" + std::to_string(getpid()) + "-" + std::to_string(++pools);
}

void check_equal(const Map& map, const Model& model, const Elements& elements) {
  map.check();
  Model content;
  map.foreach (
      [&](std::uint64_t key, std::uint64_t value) { CHECK(content.emplace(key, value).second); });
  CHECK(content == model);
  for (const auto& [key, value] : model) CHECK(map.get(key) == sum_of(value, elements));
}

// Few keys, so that they repeat: 0 and the maximum, neighbours, and distant keys.
std::uint64_t draw_key(std::mt19937_64& random, std::uint64_t range) {
  const std::uint64_t number = random() % range;
  switch (number % 4) {
    case 0:
      return number;
    case 1:
      return ~number;
    case 2:
      return number << 32U;
    default:
      return mixed(number);
  }
}

void exercise(Map& map, Model& model, const Elements& elements, std::uint64_t seed, int operations,
              std::uint64_t range) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < operations; ++i) {
    const std::uint64_t key = draw_key(random, range);
    // The map grows, then shrinks to nothing, so that nodes split and merge.
    const bool put = random() % 100 < (i < operations / 2 ? 75U : 25U);
    if (put) {
      const std::uint64_t value = random();
      map.put(key, value);
      model[key] = value;
    } else {
      CHECK(map.remove(key) == (model.erase(key) != 0));
    }
    if (i % 97 == 0) map.check();
  }
  check_equal(map, model, elements);
}

}  // namespace

TEST_CASE("volatile maps hold what std::map holds") {
  for (const MapType& type : map_types()) {
    CAPTURE(type.name);
    for (const Elements elements : {Elements{}, Elements{64, 24}}) {
      if (elements.element_bytes != 0 && type.name.starts_with("std-")) continue;
      const auto owner = type.make_volatile(elements);
      Model model;
      exercise(owner->map(), model, elements, 1, 4000, 1000);
      while (!model.empty()) {
        CHECK(owner->map().remove(model.begin()->first));
        model.erase(model.begin());
      }
      check_equal(owner->map(), model, elements);
      // Not empty at its end: under a sanitizer, what it does not free is a leak.
      exercise(owner->map(), model, elements, 2, 400, 1000);
      CHECK(!model.empty());
    }
  }
}

TEST_CASE("maps in pools hold what std::map holds, also after reopening") {
  for (const MapType& type : map_types()) {
    if (!type.make_pool) continue;
    CAPTURE(type.name);
    for (const Elements elements : {Elements{}, Elements{64, 24}}) {
      const std::string path = new_pool();
      auto owner = type.make_pool(path, {32U << 20U}, elements);
      Model model;
      exercise(owner->map(), model, elements, 2, 1500, 400);
      owner.reset();
      owner = type.open_pool(path);
      check_equal(owner->map(), model, elements);
      exercise(owner->map(), model, elements, 3, 200, 400);
      CHECK_THROWS_AS(type.open_pool(path), Failure);  // in use
      owner.reset();
      unlink(path.c_str());
    }
  }
}

TEST_CASE("a full pool is reported and leaves the map unchanged") {
  for (const MapType& type : map_types()) {
    if (!type.make_pool) continue;
    CAPTURE(type.name);
    const std::string path = new_pool();
    auto owner = type.make_pool(path, {8U << 20U}, {4096, 8});
    Model model;
    const auto fill = [&] {
      for (std::uint64_t key = 1; key < 4096; ++key) {
        owner->map().put(mixed(key), key);
        model[mixed(key)] = key;
      }
    };
    CHECK_THROWS_AS(fill(), MachineError);
    check_equal(owner->map(), model, {4096, 8});
    owner.reset();
    unlink(path.c_str());
  }
}
