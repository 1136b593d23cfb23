// Every map, volatile and in a pool, against std::map: the same operations, the same content.
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
  static int made = 0;
  return "/dev/shm/nearfar-maps-test-" + std::to_string(getpid()) + "-" + std::to_string(++made);
}

void same(const Map& map, const Model& model, const Elements& elements) {
  map.check();
  Model found;
  map.foreach (
      [&](std::uint64_t key, std::uint64_t value) { CHECK(found.emplace(key, value).second); });
  CHECK(found == model);
  for (const auto& [key, value] : model) CHECK(map.get(key) == sum_of(value, elements));
}

// Few keys, so that they come again: 0 and the greatest, neighbours, and far apart ones.
std::uint64_t some_key(std::mt19937_64& random, std::uint64_t range) {
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
    const std::uint64_t key = some_key(random, range);
    // Grows, then shrinks to nothing: what splits also joins.
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
  same(map, model, elements);
}

}  // namespace

TEST_CASE("volatile maps hold what std::map holds") {
  for (const MapType& type : map_types()) {
    CAPTURE(type.name);
    for (const Elements elements : {Elements{}, Elements{64, 24}}) {
      if (elements.element_bytes != 0 && type.name.starts_with("std-")) continue;
      const auto held = type.make_volatile(elements);
      Model model;
      exercise(held->map(), model, elements, 1, 4000, 1000);
      while (!model.empty()) {
        CHECK(held->map().remove(model.begin()->first));
        model.erase(model.begin());
      }
      same(held->map(), model, elements);
    }
  }
}

TEST_CASE("maps in pools hold what std::map holds, also after reopening") {
  for (const MapType& type : map_types()) {
    if (!type.make_pool) continue;
    CAPTURE(type.name);
    for (const Elements elements : {Elements{}, Elements{64, 24}}) {
      const std::string path = new_pool();
      auto held = type.make_pool(path, {32U << 20U}, elements);
      Model model;
      exercise(held->map(), model, elements, 2, 1500, 400);
      held.reset();
      held = type.open_pool(path);
      same(held->map(), model, elements);
      exercise(held->map(), model, elements, 3, 200, 400);
      CHECK_THROWS_AS(type.open_pool(path), Failure);  // in use
      held.reset();
      unlink(path.c_str());
    }
  }
}

TEST_CASE("a full pool is said, and the map is as it was") {
  for (const MapType& type : map_types()) {
    if (!type.make_pool) continue;
    CAPTURE(type.name);
    const std::string path = new_pool();
    auto held = type.make_pool(path, {8U << 20U}, {4096, 8});
    Model model;
    const auto fill = [&] {
      for (std::uint64_t key = 1; key < 4096; ++key) {
        held->map().put(mixed(key), key);
        model[mixed(key)] = key;
      }
    };
    CHECK_THROWS_AS(fill(), MachineLacks);
    same(held->map(), model, {4096, 8});
    held.reset();
    unlink(path.c_str());
  }
}
