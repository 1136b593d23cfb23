// Skip list with half of a level's nodes in the next level. With 24 levels, the top level has one
// of 2^23 nodes: a search stays logarithmic up to 10^7 keys, where four levels walk n/8 of them.
//
// A link contains the key it leads to, so a search touches only nodes that it continues from: with
// a share p of each level in the next, these are (1 - p) / (p ln 1/p) ln n, i.e. 20 of a million
// for a half, 30 for a quarter.
//
// A node's height is computed from its key's hash, equal in every memory and run.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "bench/maps/broken.hpp"
#include "bench/maps/hash.hpp"
#include "bench/maps/memory.hpp"

namespace nearfar::bench {

template <typename Memory>
class SkipList {
  static constexpr unsigned levels = 24;
  struct Node;
  struct Link {
    Ref<Node> to;
    std::uint64_t key;  // of `to`
    friend bool operator==(Link, Link) = default;
  };
  struct Node {
    Link next[levels];  // as many as its height; then its word, so that no link straddles two lines
  };

 public:
  struct Header {
    Link first[levels];
  };

  SkipList(Memory& memory, Header& header) : memory_(memory), header_(header) {}

  void make_room(std::uint64_t) {}

  std::optional<std::uint64_t> put(std::uint64_t key, std::uint64_t word) {
    Link* links[levels];
    if (Node* found = find(key, links)) {
      const std::uint64_t old = word_of(found, key);
      memory_.change([&] { memory_.set(word_of(found, key), word); });
      return old;
    }
    memory_.change([&] {
      const unsigned node_height = height(key);
      const Ref<Node> made = memory_.template make<Node>(bytes(node_height));
      Node* new_node = memory_.at(made);
      word_of(new_node, key) = word;
      for (unsigned i = 0; i < node_height; ++i) new_node->next[i] = *links[i];
      memory_.persist_new(new_node, bytes(node_height));
      for (unsigned i = 0; i < node_height; ++i) memory_.set(*links[i], Link{made, key});
    });
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::uint64_t> get(std::uint64_t key) const {
    const Link* next = header_.first;
    for (unsigned level = levels; level-- > 0;) {
      while (next[level].to && next[level].key <= key) {
        Node* node = memory_.at(next[level].to);
        if (next[level].key == key) return word_of(node, key);
        next = node->next;
      }
    }
    return std::nullopt;
  }

  std::optional<std::uint64_t> remove(std::uint64_t key) {
    Link* links[levels];
    Node* found = find(key, links);
    if (found == nullptr) return std::nullopt;
    const std::uint64_t old = word_of(found, key);
    const Ref<Node> removed = links[0]->to;
    const unsigned node_height = height(key);
    memory_.change([&] {
      for (unsigned i = 0; i < node_height; ++i) memory_.set(*links[i], found->next[i]);
      memory_.drop(removed, bytes(node_height));
    });
    return old;
  }

  template <typename F>
  void foreach (F&& f) const {
    for (Link link = header_.first[0]; link.to; link = memory_.at(link.to)->next[0]) {
      f(link.key, word_of(memory_.at(link.to), link.key));
    }
  }

  void check() const {
    for (unsigned level = 0; level < levels; ++level) {
      bool first = true;
      std::uint64_t last = 0;
      // Every node of the level below that is tall enough must be on this level.
      Link lower = header_.first[level == 0 ? 0 : level - 1];
      for (Link link = header_.first[level]; link.to; link = memory_.at(link.to)->next[level]) {
        require(first || link.key > last, "keys are not in order");
        require(height(link.key) > level, "a node is on a level above its height");
        if (level > 0) {
          lower = next_high(lower, level);
          require(lower == link, "a node is missing on a level");
          lower = memory_.at(lower.to)->next[level - 1];
        }
        first = false;
        last = link.key;
      }
      if (level > 0) require(!next_high(lower, level).to, "a node is missing on a level");
    }
  }

 private:
  // Returns the first link from `link` on, on level - 1, to a node that is on `level` too.
  Link next_high(Link link, unsigned level) const {
    while (link.to && height(link.key) <= level) link = memory_.at(link.to)->next[level - 1];
    return link;
  }

  static unsigned height(std::uint64_t key) {
    const auto zeros = static_cast<unsigned>(std::countr_zero(mixed(key)));
    return zeros + 1 < levels ? zeros + 1 : levels;
  }
  static std::size_t bytes(unsigned node_height) {
    return node_height * sizeof(Link) + sizeof(std::uint64_t);
  }
  static std::uint64_t& word_of(Node* node, std::uint64_t key) {
    auto* beyond = reinterpret_cast<std::byte*>(node) + height(key) * sizeof(Link);
    return *reinterpret_cast<std::uint64_t*>(beyond);
  }

  // Returns the node of `key` or null; `links` gets the link to it or beyond it on each level.
  Node* find(std::uint64_t key, Link* links[levels]) const {
    Link* next = header_.first;
    for (unsigned level = levels; level-- > 0;) {
      while (next[level].to && next[level].key < key) next = memory_.at(next[level].to)->next;
      links[level] = &next[level];
    }
    const Link& found = *links[0];
    return found.to && found.key == key ? memory_.at(found.to) : nullptr;
  }

  Memory& memory_;
  Header& header_;
};

}  // namespace nearfar::bench
