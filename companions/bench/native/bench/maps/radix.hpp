// Radix tree over 4-bit digits, most significant first. A node stores the digit it branches on, so
// digits shared by all keys below take no node; each has 16 children.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>

#include "bench/maps/broken.hpp"
#include "bench/maps/memory.hpp"

namespace nearfar::bench {

template <typename Memory>
class Radix {
  static constexpr unsigned digit_bits = 4;
  static constexpr unsigned fan = 1U << digit_bits;

  struct Leaf {
    std::uint64_t key;
    std::uint64_t word;
  };
  // A child is a leaf if its lowest bit is set: blocks are aligned to 16 bytes in every memory.
  struct Child {
    std::uint64_t tagged;
    explicit operator bool() const { return tagged != 0; }
    friend bool operator==(Child, Child) = default;
  };
  struct Node {
    std::uint64_t shift;   // position of its digit
    std::uint64_t prefix;  // the digits above, shifted down
    Child child[fan];
  };

 public:
  struct Header {
    Child root;
  };

  Radix(Memory& memory, Header& header) : memory_(memory), header_(header) {}

  void make_room(std::uint64_t) {}

  std::optional<std::uint64_t> put(std::uint64_t key, std::uint64_t word) {
    Child* place = &header_.root;
    std::uint64_t other = 0;  // a key below `place`, in its relevant digits
    for (;;) {
      if (!*place) {
        memory_.change([&] { memory_.set(*place, new_leaf(key, word)); });
        return std::nullopt;
      }
      if (is_leaf(*place)) {
        Leaf& found = leaf(*place);
        if (found.key == key) {
          const std::uint64_t old = found.word;
          memory_.change([&] { memory_.set(found.word, word); });
          return old;
        }
        other = found.key;
        break;
      }
      Node& below = node(*place);
      if (above(key, below.shift) != below.prefix) {
        // The digits above its own; two shifts, because a shift by 64 is undefined.
        other = below.prefix << below.shift << digit_bits;
        break;
      }
      place = &below.child[digit(key, below.shift)];
    }
    memory_.change([&] { branch(*place, key, word, other); });
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::uint64_t> get(std::uint64_t key) const {
    Child at = header_.root;
    while (at && !is_leaf(at)) {
      // Comparing the leaf's key at the end suffices.
      const Node& below = node(at);
      at = below.child[digit(key, below.shift)];
    }
    if (!at || leaf(at).key != key) return std::nullopt;
    return leaf(at).word;
  }

  std::optional<std::uint64_t> remove(std::uint64_t key) {
    Child* parent = nullptr;  // reference to the node that contains `place`
    Child* place = &header_.root;
    while (*place && !is_leaf(*place)) {
      parent = place;
      Node& below = node(*place);
      place = &below.child[digit(key, below.shift)];
    }
    if (!*place || leaf(*place).key != key) return std::nullopt;
    const Child removed = *place;
    const std::uint64_t old = leaf(removed).word;
    memory_.change([&] {
      const Child last = parent == nullptr ? Child{} : only_other(node(*parent), place);
      if (last) {  // a node with a single child does not branch
        const Child dropped = *parent;
        memory_.set(*parent, last);
        memory_.drop(Ref<Node>{dropped.tagged});
      } else {
        memory_.set(*place, Child{});
      }
      memory_.drop(Ref<Leaf>{removed.tagged & ~1ULL});
    });
    return old;
  }

  template <typename F>
  void foreach (F&& f) const {
    walk(header_.root, f);
  }

  void check() const { check(header_.root, 64, 0); }

 private:
  static bool is_leaf(Child child) { return (child.tagged & 1U) != 0; }
  Node& node(Child child) const { return *memory_.at(Ref<Node>{child.tagged}); }
  Leaf& leaf(Child child) const { return *memory_.at(Ref<Leaf>{child.tagged & ~1ULL}); }
  static std::uint64_t digit(std::uint64_t key, std::uint64_t shift) {
    return key >> shift & (fan - 1);
  }
  static std::uint64_t above(std::uint64_t key, std::uint64_t shift) {
    return key >> shift >> digit_bits;
  }
  Child new_leaf(std::uint64_t key, std::uint64_t word) {
    const Ref<Leaf> made = memory_.template make<Leaf>();
    *memory_.at(made) = {key, word};
    memory_.persist_new(memory_.at(made), sizeof(Leaf));
    return {made.where | 1U};
  }

  // Inserts a node above `place`, whose keys have the digits of `other`, with the key as a sibling.
  void branch(Child& place, std::uint64_t key, std::uint64_t word, std::uint64_t other) {
    const auto bit = static_cast<std::uint64_t>(std::bit_width(key ^ other)) - 1;
    const std::uint64_t shift = bit / digit_bits * digit_bits;
    const Ref<Node> made = memory_.template make<Node>();
    Node& new_node = *memory_.at(made);
    std::memset(static_cast<void*>(&new_node), 0, sizeof new_node);
    new_node.shift = shift;
    new_node.prefix = above(key, shift);
    new_node.child[digit(key, shift)] = new_leaf(key, word);
    new_node.child[digit(other, shift)] = place;
    memory_.persist_new(&new_node, sizeof new_node);
    memory_.set(place, {made.where});
  }

  // Returns the only other child than `place`, if there is exactly one.
  static Child only_other(const Node& node, const Child* place) {
    Child other{};
    for (const Child& child : node.child) {
      if (&child == place || !child) continue;
      if (other) return {};
      other = child;
    }
    return other;
  }

  template <typename F>
  void walk(Child child, const F& f) const {
    if (!child) return;
    if (is_leaf(child)) return f(leaf(child).key, leaf(child).word);
    for (const Child& each : node(child).child) walk(each, f);
  }

  void check(Child child, std::uint64_t shift, std::uint64_t prefix) const {
    if (!child) return;
    if (is_leaf(child)) {
      return require(shift == 64 || leaf(child).key >> shift == prefix, "a key is misplaced");
    }
    const Node& below = node(child);
    require(below.shift < shift && below.shift % digit_bits == 0, "digits do not descend");
    require(shift == 64 || below.prefix >> (shift - below.shift - digit_bits) == prefix,
            "a node is misplaced");
    unsigned children = 0;
    for (std::uint64_t i = 0; i < fan; ++i) {
      children += below.child[i] ? 1 : 0;
      check(below.child[i], below.shift, below.prefix << digit_bits | i);
    }
    require(children >= 2, "a node does not branch");
  }

  Memory& memory_;
  Header& header_;
};

}  // namespace nearfar::bench
