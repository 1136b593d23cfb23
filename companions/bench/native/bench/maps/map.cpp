#include "bench/maps/map.hpp"

#include <algorithm>

#include "bench/arguments.hpp"
#include "bench/errors.hpp"
#include "bench/maps/map_kind.hpp"

namespace nearfar::bench {
namespace {

std::vector<MapType>& types() {
  static std::vector<MapType> registered;
  return registered;
}

}  // namespace

std::uint64_t sum_of(std::uint64_t value, const Elements& elements) {
  if (elements.element_bytes == 0) return value;
  const std::uint64_t words = elements.value_bytes / sizeof(std::uint64_t);
  return words == 0 ? 0 : words * value + words * (words - 1) / 2;
}

const std::vector<MapType>& map_types() { return types(); }

const MapType& map_type(const std::string& name) {
  std::vector<std::string> names;
  for (const MapType& type : types()) {
    if (type.name == name) return type;
    names.push_back(type.name);
  }
  throw BadArgument("there is no map '" + name + "'" + nearest(name, names));
}

RegisteredMap::RegisteredMap(MapType type) {
  register_map_kind(type.name, type.meaning);
  const auto position =
      std::lower_bound(types().begin(), types().end(), type,
                       [](const MapType& a, const MapType& b) { return a.name < b.name; });
  types().insert(position, std::move(type));
}

}  // namespace nearfar::bench
