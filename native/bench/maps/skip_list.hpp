// Skip list, a quarter of the nodes of a level in the next. With 16 levels the topmost has one of
// 4^15 nodes: a search stays logarithmic up to 10^9 keys, where four levels walk n/64 of them.
//
// A node's height comes from its key's hash: as good as random, the same in every memory and run.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "bench/maps/broken.hpp"
#include "bench/maps/hash.hpp"
#include "bench/maps/memory.hpp"

namespace nearfar::bench {

template <typename Memory>
class SkipList {
  static constexpr unsigned levels = 16;
  struct Node {
    std::uint64_t key;
    std::uint64_t word;
    Ref<Node> next[levels];  // as many as it is high; the rest is not there
  };

 public:
  struct Header {
    Ref<Node> first[levels];
  };

  SkipList(Memory& memory, Header& header) : memory_(memory), header_(header) {}

  void make_room(std::uint64_t) {}

  std::optional<std::uint64_t> put(std::uint64_t key, std::uint64_t word) {
    Ref<Node>* links[levels];
    if (Node* found = find(key, links)) {
      const std::uint64_t old = found->word;
      memory_.change([&] {
        memory_.touch(&found->word);
        found->word = word;
      });
      return old;
    }
    memory_.change([&] {
      const unsigned high = height(key);
      const Ref<Node> made = memory_.template make<Node>(bytes(high));
      Node* fresh = memory_.at(made);
      fresh->key = key;
      fresh->word = word;
      for (unsigned i = 0; i < high; ++i) fresh->next[i] = *links[i];
      memory_.wrote(fresh, bytes(high));
      for (unsigned i = 0; i < high; ++i) memory_.set(*links[i], made);
    });
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::uint64_t> get(std::uint64_t key) const {
    const Ref<Node>* next = header_.first;
    for (unsigned level = levels; level-- > 0;) {
      while (next[level]) {
        const Node* node = memory_.at(next[level]);
        if (node->key == key) return node->word;
        if (node->key > key) break;
        next = node->next;
      }
    }
    return std::nullopt;
  }

  std::optional<std::uint64_t> remove(std::uint64_t key) {
    Ref<Node>* links[levels];
    Node* found = find(key, links);
    if (found == nullptr) return std::nullopt;
    const std::uint64_t old = found->word;
    const Ref<Node> gone = *links[0];
    const unsigned high = height(key);
    memory_.change([&] {
      for (unsigned i = 0; i < high; ++i) memory_.set(*links[i], found->next[i]);
      memory_.drop(gone, bytes(high));
    });
    return old;
  }

  template <typename F>
  void foreach (F&& f) const {
    for (Ref<Node> each = header_.first[0]; each; each = memory_.at(each)->next[0]) {
      f(memory_.at(each)->key, memory_.at(each)->word);
    }
  }

  void check() const {
    for (unsigned level = 0; level < levels; ++level) {
      bool first = true;
      std::uint64_t last = 0;
      // Every node of the level below that is high enough is on this one.
      Ref<Node> lower = header_.first[level == 0 ? 0 : level - 1];
      for (Ref<Node> each = header_.first[level]; each; each = memory_.at(each)->next[level]) {
        const Node& node = *memory_.at(each);
        require(first || node.key > last, "keys are not in order");
        require(height(node.key) > level, "a node is on a level above its height");
        if (level > 0) {
          lower = next_high(lower, level);
          require(lower == each, "a node is missing on a level");
          lower = memory_.at(lower)->next[level - 1];
        }
        first = false;
        last = node.key;
      }
      if (level > 0) require(!next_high(lower, level), "a node is missing on a level");
    }
  }

 private:
  // From `each` on level - 1, the first node that is on `level` too.
  Ref<Node> next_high(Ref<Node> each, unsigned level) const {
    while (each && height(memory_.at(each)->key) <= level) {
      each = memory_.at(each)->next[level - 1];
    }
    return each;
  }

  static unsigned height(std::uint64_t key) {
    const auto zeros = static_cast<unsigned>(std::countr_zero(mixed(key)));
    return zeros / 2 + 1 < levels ? zeros / 2 + 1 : levels;
  }
  static std::size_t bytes(unsigned high) {
    return sizeof(Node) - (levels - high) * sizeof(Ref<Node>);
  }

  // The node of `key` or null; and on each level the link that points to it or beyond it.
  Node* find(std::uint64_t key, Ref<Node>* links[levels]) const {
    Ref<Node>* next = header_.first;
    Node* found = nullptr;
    for (unsigned level = levels; level-- > 0;) {
      while (next[level]) {
        Node* node = memory_.at(next[level]);
        if (node->key >= key) {
          if (node->key == key) found = node;
          break;
        }
        next = node->next;
      }
      links[level] = &next[level];
    }
    return found;
  }

  Memory& memory_;
  Header& header_;
};

}  // namespace nearfar::bench
