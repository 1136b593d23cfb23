// Interface of all maps from 64-bit keys to values, and the catalogue of maps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "bench/durability.hpp"

namespace nearfar::bench {

// Value of a key: with element 0, a word in the map itself; else a separate block, allocated by the
// insert and freed by the remove. An insert writes its first `value` bytes (at least 8), a get
// reads `value` bytes.
struct Elements {
  std::uint64_t element_bytes = 0;
  std::uint64_t value_bytes = 0;
};

class Map {
 public:
  Map() = default;
  virtual ~Map() = default;
  Map(const Map&) = delete;
  Map& operator=(const Map&) = delete;

  virtual void put(std::uint64_t key, std::uint64_t value) = 0;
  // Returns the value or, with elements, the sum of the words read; nothing if there is no such
  // key.
  virtual std::optional<std::uint64_t> get(std::uint64_t key) const = 0;
  virtual bool remove(std::uint64_t key) = 0;
  using Visit = std::function<void(std::uint64_t key, std::uint64_t value)>;
  virtual void foreach (const Visit& visit) const = 0;
  virtual void check() const = 0;  // throws WrongContent if an invariant does not hold
};

// Returns the sum that get() returns for an element with `value`.
std::uint64_t sum_of(std::uint64_t value, const Elements& elements);

// A map and its memory or pool.
class OwnedMap {
 public:
  OwnedMap() = default;
  virtual ~OwnedMap() = default;
  OwnedMap(const OwnedMap&) = delete;
  OwnedMap& operator=(const OwnedMap&) = delete;
  virtual Map& map() = 0;
  [[nodiscard]] virtual Durability durability() const { return {}; }
};

struct MapType {
  std::string name;
  std::string meaning;
  std::function<std::unique_ptr<OwnedMap>(Elements)> make_volatile;
  // Null: it has no persistent version, or the library was not installed at the build.
  std::function<std::unique_ptr<OwnedMap>(const std::string& path, Bytes size, Elements)>
      make_pool = {};
  std::function<std::unique_ptr<OwnedMap>(const std::string& path)> open_pool = {};
};

const std::vector<MapType>& map_types();
const MapType& map_type(const std::string& name);

struct RegisteredMap {
  explicit RegisteredMap(MapType type);
};

}  // namespace nearfar::bench
