// The kinds `map` and `map-NAME`: runs, and pools that can be checked, printed and driven.
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
  throw MachineError(
      std::string("pools need ") + pools_need +
      ", which was not installed when nearfar was built: install it and build again");
}

void check(const std::string& name, const std::string& pool) {
  const auto owned = persistent(name).open_pool(pool);
  owned->map().check();
  const Map& map = owned->map();
  map.foreach ([&](std::uint64_t key, std::uint64_t) {
    require(map.get(key).has_value(), "a key of the walk is not found");
  });
}

// Prints the content, then tests whether the map still works.
void dump(const std::string& name, const std::string& pool) {
  const auto owned = persistent(name).open_pool(pool);
  Map& map = owned->map();
  map.check();
  std::uint64_t new_key = 0;
  map.foreach ([&](std::uint64_t key, std::uint64_t value) {
    std::printf("%lld %lld\n", static_cast<long long>(key), static_cast<long long>(value));
    new_key ^= key;
  });
  while (map.get(new_key)) ++new_key;
  map.put(new_key, 1);
  require(map.get(new_key).has_value(), "a newly inserted key is not found");
  require(map.remove(new_key) && !map.get(new_key), "a newly inserted key cannot be removed");
  map.check();
}

// Keys are few, so that they repeat; half are adjacent and half far apart. First mostly inserts,
// then mostly removes, to cover splits and merges.
void drive(const std::string& name, const std::string& pool, std::uint64_t operations,
           std::uint64_t seed) {
  constexpr Bytes small{16U << 20U};           // twice libpmemobj's minimum: explorers copy pools
  constexpr std::uint64_t inserts_first = 75;  // percentage of inserts in the first half
  constexpr std::uint64_t key_bits = 62;       // so that a key is a positive long long
  constexpr Elements elements{64, 16};         // separate blocks are also tested
  const MapType& type = persistent(name);
  struct stat status {};
  const auto owned = stat(pool.c_str(), &status) == 0
                         ? type.open_pool(pool)
                         : type.make_pool(pool, small + Bytes{512 * operations}, elements);
  Map& map = owned->map();
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
                      .make = [](Arguments& arguments) {
                        return std::make_unique<MapWorkload>(arguments, arguments.text("map"));
                      }}};

}  // namespace

void register_map_kind(const std::string& name, const std::string& meaning) {
  const Registered registered{{
      .name = "map-" + name,
      .summary = meaning,
      .parameters = map_parameters(false),
      .make =
          [name](Arguments& arguments) { return std::make_unique<MapWorkload>(arguments, name); },
      .check = [name](const std::string& pool) { check(name, pool); },
      .dump = [name](const std::string& pool) { dump(name, pool); },
      .drive = [name](const std::string& pool, std::uint64_t operations,
                      std::uint64_t seed) { drive(name, pool, operations, seed); },
  }};
}

}  // namespace nearfar::bench
