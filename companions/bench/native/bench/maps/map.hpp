// A map of 64-bit keys to values, behind one interface whatever it is and wherever it lives; and
// the catalogue of all of them.
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

// What a key maps to: with element 0 a word in the map itself; else a block of its own, allocated
// with the insert and freed with the remove, of which the first `value` bytes (and 8 at least) are
// written by an insert and `value` bytes are read by a get.
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
  // What a get reads: the value, or of elements the sum of the words read; nothing: no such key.
  virtual std::optional<std::uint64_t> get(std::uint64_t key) const = 0;
  virtual bool remove(std::uint64_t key) = 0;
  using Visit = std::function<void(std::uint64_t key, std::uint64_t value)>;
  virtual void foreach (const Visit& visit) const = 0;
  virtual void check() const = 0;  // throws WrongContent where an invariant does not hold
};

// The sum that get() returns of an element with `value` in it.
std::uint64_t sum_of(std::uint64_t value, const Elements& elements);

// A map and the pool it lives in.
class HeldMap {
 public:
  HeldMap() = default;
  virtual ~HeldMap() = default;
  HeldMap(const HeldMap&) = delete;
  HeldMap& operator=(const HeldMap&) = delete;
  virtual Map& map() = 0;
  [[nodiscard]] virtual Durability durability() const { return {}; }
};

struct MapType {
  std::string name;
  std::string meaning;
  std::function<std::unique_ptr<HeldMap>(Elements)> make_volatile;
  // Null: it has no persistent form, or the library was not there at the build.
  std::function<std::unique_ptr<HeldMap>(const std::string& path, Bytes size, Elements)> make_pool =
      {};
  std::function<std::unique_ptr<HeldMap>(const std::string& path)> open_pool = {};
};

const std::vector<MapType>& map_types();
const MapType& map_type(const std::string& name);

struct RegisteredMap {
  explicit RegisteredMap(MapType type);
};

}  // namespace nearfar::bench
