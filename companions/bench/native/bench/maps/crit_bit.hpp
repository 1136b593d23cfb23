// Crit-bit tree: an inner node has two sides, by the first bit in which the keys below differ.
// Sides contain keys and words themselves, so an insert creates one node and changes one side. The
// bit is stored next to the reference to the node: one load per level, from one cache line.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "bench/maps/broken.hpp"
#include "bench/maps/memory.hpp"

namespace nearfar::bench {

template <typename Memory>
class CritBit {
  struct Node;
  // A leaf (key and word), or a subtree (bit, 63 to 0, and reference to its node).
  struct Side {
    std::uint64_t key;
    std::uint64_t word;
    std::uint64_t kind;
  };
  struct Node {
    Side side[2];  // bits decrease downwards
  };
  static constexpr std::uint64_t nothing = 0;
  static constexpr std::uint64_t leaf = 1;
  static constexpr std::uint64_t subtree = 2;

 public:
  struct Header {
    Side root;
  };

  CritBit(Memory& memory, Header& header) : memory_(memory), header_(header) {}

  void make_room(std::uint64_t) {}

  std::optional<std::uint64_t> put(std::uint64_t key, std::uint64_t word) {
    Side* nearest = &header_.root;
    while (nearest->kind == subtree) nearest = &down(*nearest, key);
    if (nearest->kind == nothing) {
      memory_.change([&] { change(*nearest, {key, word, leaf}); });
      return std::nullopt;
    }
    if (nearest->key == key) {
      const std::uint64_t old = nearest->word;
      memory_.change([&] { change(*nearest, {key, word, leaf}); });
      return old;
    }
    const auto bit = static_cast<std::uint64_t>(std::bit_width(nearest->key ^ key) - 1);
    // Finds the new node's position: bits decrease downwards.
    Side* place = &header_.root;
    while (place->kind == subtree && place->key > bit) place = &down(*place, key);
    memory_.change([&] {
      const Ref<Node> made = memory_.template make<Node>();
      Node& new_node = *memory_.at(made);
      new_node.side[key >> bit & 1U] = {key, word, leaf};
      new_node.side[~(key >> bit) & 1U] = *place;
      memory_.persist_new(&new_node, sizeof new_node);
      change(*place, {bit, made.where, subtree});
    });
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::uint64_t> get(std::uint64_t key) const {
    const Side* side = &header_.root;
    while (side->kind == subtree) side = &down(*side, key);
    if (side->kind == nothing || side->key != key) return std::nullopt;
    return side->word;
  }

  std::optional<std::uint64_t> remove(std::uint64_t key) {
    Side* above = nullptr;
    Side* side = &header_.root;
    while (side->kind == subtree) {
      above = side;
      side = &down(*side, key);
    }
    if (side->kind == nothing || side->key != key) return std::nullopt;
    const std::uint64_t old = side->word;
    memory_.change([&] {
      if (above == nullptr) {
        change(*side, {0, 0, nothing});
      } else {
        // The other side replaces the node.
        const Ref<Node> dropped{above->word};
        const Side other = node(*above).side[~(key >> above->key) & 1U];
        change(*above, other);
        memory_.drop(dropped);
      }
    });
    return old;
  }

  template <typename F>
  void foreach (F&& f) const {
    walk(header_.root, [&](const Side& side) { f(side.key, side.word); });
  }

  void check() const { check(header_.root, 64, 0, 0); }

 private:
  Node& node(const Side& side) const { return *memory_.at(Ref<Node>{side.word}); }
  Side& down(const Side& side, std::uint64_t key) const {
    return node(side).side[key >> side.key & 1U];
  }
  void change(Side& side, Side to) {
    memory_.touch(&side);
    side = to;
  }

  template <typename F>
  void walk(const Side& side, const F& f) const {
    if (side.kind == leaf) f(side);
    if (side.kind != subtree) return;
    walk(node(side).side[0], f);
    walk(node(side).side[1], f);
  }

  // Keys below share the bits of `mask` with `prefix`.
  void check(const Side& side, std::uint64_t above, std::uint64_t mask,
             std::uint64_t prefix) const {
    if (side.kind == leaf) require((side.key & mask) == prefix, "a key is on the wrong side");
    require(side.kind <= subtree, "a side is neither leaf nor subtree");
    require(side.kind != nothing || above == 64, "a node has an empty side");
    if (side.kind != subtree) return;
    const Node& below = node(side);
    require(side.key < above, "bits do not decrease downwards");
    const std::uint64_t bit = 1ULL << side.key;
    check(below.side[0], side.key, mask | bit, prefix);
    check(below.side[1], side.key, mask | bit, prefix | bit);
  }

  Memory& memory_;
  Header& header_;
};

}  // namespace nearfar::bench
