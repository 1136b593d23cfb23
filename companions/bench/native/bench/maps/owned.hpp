// Combines an algorithm (such as hash_chained.hpp) with a memory, behind the interface Map.
#pragma once

#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "bench/maps/map.hpp"
#include "bench/maps/memory.hpp"
#include "bench/pool.hpp"

namespace nearfar::bench {

// Version of the layout of pools: increment it when a Header, a node or Elements changes.
inline constexpr const char* maps_version = "nearfar-map-2";

template <typename Algorithm, typename Memory>
class MapOf final : public Map {
 public:
  MapOf(Memory& memory, typename Algorithm::Header& header, Elements elements)
      : memory_(memory), algorithm_(memory, header), elements_(elements) {}

  void put(std::uint64_t key, std::uint64_t value) override {
    algorithm_.make_room(key);
    if (elements_.element_bytes == 0) {
      algorithm_.put(key, value);
      return;
    }
    memory_.change([&] {
      const auto element = memory_.template make<std::uint64_t>(elements_.element_bytes);
      std::uint64_t* words = memory_.at(element);
      for (std::uint64_t i = 0; i < written(); ++i) words[i] = value + i;
      memory_.persist_new(words, written() * sizeof *words);
      if (const auto old = algorithm_.put(key, element.where)) drop(*old);
    });
  }

  [[nodiscard]] std::optional<std::uint64_t> get(std::uint64_t key) const override {
    const std::optional<std::uint64_t> word = algorithm_.get(key);
    if (!word || elements_.element_bytes == 0) return word;
    const std::uint64_t* words = memory_.at(Ref<std::uint64_t>{*word});
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < elements_.value_bytes / sizeof *words; ++i) sum += words[i];
    return sum;
  }

  bool remove(std::uint64_t key) override {
    if (elements_.element_bytes == 0) return algorithm_.remove(key).has_value();
    bool removed = false;
    memory_.change([&] {
      if (const auto old = algorithm_.remove(key)) {
        drop(*old);
        removed = true;
      }
    });
    return removed;
  }

  void foreach (const Visit& visit) const override {
    algorithm_.foreach ([&](std::uint64_t key, std::uint64_t word) {
      if (elements_.element_bytes == 0) return visit(key, word);
      const std::uint64_t* words = memory_.at(Ref<std::uint64_t>{word});
      for (std::uint64_t i = 1; i < written(); ++i) {
        require(words[i] == words[0] + i, "an element's content is wrong");
      }
      visit(key, words[0]);
    });
  }

  void check() const override { algorithm_.check(); }

  // Frees what the map holds.
  void clear() {
    std::vector<std::uint64_t> keys;
    algorithm_.foreach ([&](std::uint64_t key, std::uint64_t) { keys.push_back(key); });
    for (const std::uint64_t key : keys) remove(key);
    if constexpr (requires { algorithm_.drop_table(); }) algorithm_.drop_table();
  }

 private:
  // Number of words written to an element.
  [[nodiscard]] std::uint64_t written() const {
    return std::max<std::uint64_t>(elements_.value_bytes / sizeof(std::uint64_t), 1);
  }
  void drop(std::uint64_t word) { memory_.drop(Ref<std::uint64_t>{word}, elements_.element_bytes); }

  Memory& memory_;
  Algorithm algorithm_;
  Elements elements_;
};

template <template <typename> typename Algorithm>
class OwnedVolatileMap final : public OwnedMap {
  using Header = typename Algorithm<Volatile>::Header;

 public:
  explicit OwnedVolatileMap(Elements elements) : map_(memory_, header_, elements) {}
  ~OwnedVolatileMap() override {
    try {
      map_.clear();
    } catch (const std::bad_alloc&) {  // the process ends, which frees it
    }
  }
  Map& map() override { return map_; }

 private:
  Volatile memory_;
  Header header_{};
  MapOf<Algorithm<Volatile>, Volatile> map_;
};

#ifdef NEARFAR_HAVE_PMEM

template <template <typename> typename Algorithm, typename Memory>
class OwnedPoolMap final : public OwnedMap {
  struct Root {
    Elements elements;
    typename Algorithm<Memory>::Header header;
  };

 public:
  OwnedPoolMap(const std::string& path, const std::string& layout, Bytes size, Elements elements) {
    pool_.make(path, layout, size);
    pool_.populate();
    attach(elements);
  }
  OwnedPoolMap(const std::string& path, const std::string& layout) {
    pool_.open(path, layout);
    // A pool whose creation was interrupted is an empty map.
    attach({});
  }
  Map& map() override { return *map_; }
  [[nodiscard]] Durability durability() const override { return pool_.durability(); }

 private:
  void attach(Elements elements) {
    auto* root = static_cast<Root*>(pool_.root(
        sizeof(Root), [&](void* root) { static_cast<Root*>(root)->elements = elements; }));
    memory_ = std::make_unique<Memory>(pool_);
    map_ =
        std::make_unique<MapOf<Algorithm<Memory>, Memory>>(*memory_, root->header, root->elements);
  }

  ObjectPool pool_;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<MapOf<Algorithm<Memory>, Memory>> map_;
};

// Describes a map with a volatile version and, by `InPool`, a persistent one.
template <template <typename> typename Algorithm, typename InPool>
MapType both(const std::string& name, const std::string& meaning) {
  const std::string layout = std::string(maps_version) + " " + name;
  using Held = OwnedPoolMap<Algorithm, InPool>;
  return {name, meaning,
          [](Elements elements) { return std::make_unique<OwnedVolatileMap<Algorithm>>(elements); },
          [layout](const std::string& path, Bytes size, Elements elements) {
            return std::make_unique<Held>(path, layout, size, elements);
          },
          [layout](const std::string& path) { return std::make_unique<Held>(path, layout); }};
}

#else

class Transactional;
class Published;
template <template <typename> typename Algorithm, typename InPool>
MapType both(const std::string& name, const std::string& meaning) {
  return {name, meaning, [](Elements elements) {
            return std::make_unique<OwnedVolatileMap<Algorithm>>(elements);
          }};
}

#endif

}  // namespace nearfar::bench
