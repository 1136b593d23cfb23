// The kinds `map` and `map-NAME`: runs, and pools that are checked, printed and driven.
#include "bench/maps/map_kind.hpp"

#include <sys/stat.h>

#include <cstdio>
#include <random>

#include "bench/kind.hpp"
#include "bench/maps/broken.hpp"
#include "bench/maps/hash.hpp"
#include "bench/maps/map_workload.hpp"
#include "nearfar/crash.h"

namespace nearfar::bench {
namespace {

const MapType& persistent(const std::string& name) {
  const MapType& type = map_type(name);
  if (type.open_pool) return type;
  if (*pools_need == '\0') throw BadArgument(name + " is volatile only: it has no pools");
  throw MachineLacks(std::string("pools need ") + pools_need +
                     ", which was not there when nearfar was built: install it and build again");
}

void check(const std::string& name, const std::string& pool) {
  const auto held = persistent(name).open_pool(pool);
  held->map().check();
  const Map& map = held->map();
  map.foreach ([&](std::uint64_t key, std::uint64_t) {
    require(map.get(key).has_value(), "a key that the walk shows is not found");
  });
}

// The content, then whether the map still does what maps do.
void dump(const std::string& name, const std::string& pool) {
  const auto held = persistent(name).open_pool(pool);
  Map& map = held->map();
  map.check();
  std::uint64_t fresh = 0;
  map.foreach ([&](std::uint64_t key, std::uint64_t value) {
    std::printf("%lld %lld\n", static_cast<long long>(key), static_cast<long long>(value));
    fresh ^= key;
  });
  while (map.get(fresh)) ++fresh;
  map.put(fresh, 1);
  require(map.get(fresh).has_value(), "a key that is inserted now is not found");
  require(map.remove(fresh) && !map.get(fresh), "a key that is inserted now cannot be removed");
  map.check();
}

// Keys are few, so that they come again, half of them neighbours and half of them far apart; first
// mostly inserts, then mostly removes: what splits and what merges are both gone through.
void drive(const std::string& name, const std::string& pool, std::uint64_t operations,
           std::uint64_t seed) {
  constexpr Bytes small{16U << 20U};           // twice libpmemobj's least: explorers copy pools
  constexpr std::uint64_t inserts_first = 75;  // per cent; then the rest
  constexpr std::uint64_t key_bits = 62;       // so that a key is a positive long long
  constexpr Elements elements{64, 16};         // blocks of their own belong to what can go wrong
  const MapType& type = persistent(name);
  struct stat found {};
  const auto held = stat(pool.c_str(), &found) == 0
                        ? type.open_pool(pool)
                        : type.make_pool(pool, small + Bytes{512 * operations}, elements);
  Map& map = held->map();
  std::mt19937_64 random(seed);
  for (std::uint64_t i = 0; i < operations; ++i) {
    const std::uint64_t number = random() % (operations / 2 + 1);
    const std::uint64_t key = number % 2 == 0 ? number : mixed(number) >> (64 - key_bits);
    const bool early = i < operations / 2;
    const bool insert = random() % 100 < (early ? inserts_first : 100 - inserts_first);
    if (insert) {
      NEARFAR_CRASH_OP("insert", key, i);
      map.put(key, i);
      NEARFAR_CRASH_OUTCOME(1);
    } else {
      NEARFAR_CRASH_OP("remove", key, 0);
      const bool removed = map.remove(key);
      NEARFAR_CRASH_OUTCOME(removed ? 1 : 0);
    }
  }
}

const Registered any{{.name = "map",
                      .summary = "inserts into, looks up in or removes from a map, by its name",
                      .parameters = map_parameters(true),
                      .make = [](Arguments& given) {
                        return std::make_unique<MapWorkload>(given, given.text("map"));
                      }}};

}  // namespace

void register_map_kind(const std::string& name, const std::string& meaning) {
  const Registered one{{
      .name = "map-" + name,
      .summary = meaning,
      .parameters = map_parameters(false),
      .make = [name](Arguments& given) { return std::make_unique<MapWorkload>(given, name); },
      .check = [name](const std::string& pool) { check(name, pool); },
      .dump = [name](const std::string& pool) { dump(name, pool); },
      .drive = [name](const std::string& pool, std::uint64_t operations,
                      std::uint64_t seed) { drive(name, pool, operations, seed); },
  }};
}

}  // namespace nearfar::bench
