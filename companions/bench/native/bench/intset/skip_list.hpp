// A skip list whose number of levels depends on its number of keys.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "bench/intset/safety.hpp"

namespace nearfar::bench {

template <typename Memory>
struct SkipLayout {
  // A quarter of the nodes reach each next level: enough for 4^16 keys.
  static constexpr unsigned max_levels = 16;
  struct Node;
  using Ref = typename Memory::template Ref<Node>;
  struct Node {
    std::int64_t key;
    std::uint64_t levels;
    Ref next[];  // NOLINT: as many as `levels`
  };
  struct Root {
    std::uint64_t levels;
    std::array<Ref, max_levels> head;
  };
};

// The published version creates a node in a transaction, sets each of its links in another
// transaction with a snapshot of the whole node, and overwrites its neighbours' links outside of
// any transaction.
template <typename Memory, Safety safety>
class SkipList {
  using Node = typename SkipLayout<Memory>::Node;
  using Ref = typename SkipLayout<Memory>::Ref;

 public:
  using Root = typename SkipLayout<Memory>::Root;
  static constexpr const char* name = "skip";
  static constexpr std::size_t locks = 1;
  static constexpr unsigned max_levels = SkipLayout<Memory>::max_levels;

  // `keys`: maximum number; an existing list keeps its levels.
  SkipList(Memory& memory, Root& root, std::uint64_t keys) : memory_(memory), root_(root) {
    if (root.levels == 0) {
      memory.transaction([&] { memory.change(root.levels, levels_for(keys)); });
    }
  }

  // Half the logarithm, so that the highest level has about one to four nodes.
  static std::uint64_t levels_for(std::uint64_t keys) noexcept {
    const unsigned bits = static_cast<unsigned>(std::bit_width(std::max<std::uint64_t>(keys, 1)));
    return std::clamp((bits + 1) / 2, 1U, max_levels);
  }
  static std::size_t lock_of(std::int64_t /*key*/) noexcept { return 0; }

  [[nodiscard]] bool contains(std::int64_t key) const {
    const Ref* row = root_.head.data();
    for (std::uint64_t level = root_.levels; level-- > 0;) row = advance(row, level, key);
    const Node* node = memory_.at(row[0]);
    return node != nullptr && node->key == key;
  }

  // `draw()`: 64 random bits for the new node's levels.
  template <typename Draw>
  bool insert(std::int64_t key, Draw& draw) {
    Before before{};
    const Node* found = memory_.at(find(key, before));
    if (found != nullptr && found->key == key) return false;
    std::uint64_t levels = 1;
    for (std::uint64_t bits = draw(); levels < root_.levels && bits % 4 == 0; bits /= 4) ++levels;
    if constexpr (safety == Safety::published) {
      Ref node_ref{};
      memory_.transaction([&] {
        node_ref = filled(memory_.template make_zeroed<Node>(bytes_of(levels)), key, levels);
      });
      for (std::uint64_t level = 0; level < levels; ++level) {
        memory_.transaction([&] {
          memory_.snapshot(memory_.at(node_ref), bytes_of(levels));
          memory_.at(node_ref)->next[level] = *before[level];
        });
        *before[level] = node_ref;
      }
    } else {
      memory_.transaction([&] {
        const Ref node_ref = filled(memory_.template make<Node>(bytes_of(levels)), key, levels);
        for (std::uint64_t level = 0; level < levels; ++level) {
          memory_.at(node_ref)->next[level] = *before[level];
          link<safety>(memory_, *before[level], node_ref);
        }
      });
    }
    return true;
  }

  bool remove(std::int64_t key) {
    Before before{};
    const Ref removed = find(key, before);
    const Node* node = memory_.at(removed);
    if (node == nullptr || node->key != key) return false;
    if constexpr (safety == Safety::published) {
      for (std::uint64_t i = 0; i < node->levels; ++i) *before[i] = node->next[i];
      memory_.transaction([&] {
        memory_.snapshot(&root_, sizeof root_);
        memory_.release(removed);
      });
    } else {
      memory_.transaction([&] {
        for (std::uint64_t i = 0; i < node->levels; ++i)
          link<safety>(memory_, *before[i], node->next[i]);
        memory_.release(removed);
      });
    }
    return true;
  }

  template <typename Visit>
  void for_each(Visit visit) const {
    for (const Node* node = memory_.at(root_.head[0]); node != nullptr;
         node = memory_.at(node->next[0])) {
      visit(node->key);
    }
  }

  [[nodiscard]] std::string check(std::uint64_t max_elements) const {
    if (root_.levels < 1 || root_.levels > max_levels) return "it has no levels";
    std::array<std::uint64_t, max_levels> expected{};
    for (std::uint64_t level = 0; level < root_.levels; ++level) {
      std::uint64_t count = 0;
      const Node* last = nullptr;
      for (const Node* node = memory_.at(root_.head[level]); node != nullptr;
           node = memory_.at(node->next[level])) {
        const std::string key = "key " + std::to_string(node->key);
        if (++count > max_elements) return "a level has a cycle or more elements than keys";
        if (node->levels <= level || node->levels > root_.levels) {
          return key + " is on level " + std::to_string(level) + " of " +
                 std::to_string(node->levels);
        }
        if (last != nullptr && last->key >= node->key) {
          return key + " follows " + std::to_string(last->key) + " on level " +
                 std::to_string(level);
        }
        if (level == 0) {
          for (std::uint64_t i = 0; i < node->levels; ++i) ++expected[i];
        }
        last = node;
      }
      if (count != expected[level]) {
        return "level " + std::to_string(level) + " has " + std::to_string(count) +
               " nodes instead of " + std::to_string(expected[level]);
      }
    }
    return {};
  }

  // Frees all memory of a set on the heap.
  void clear() {
    while (Node* node = memory_.at(root_.head[0])) {
      root_.head[0] = node->next[0];
      memory_.release(node);
    }
  }

 private:
  using Before = std::array<Ref*, max_levels>;

  static std::size_t bytes_of(std::uint64_t levels) noexcept {
    return sizeof(Node) + levels * sizeof(Ref);
  }
  // Returns the references of the last node before `key` on this level.
  [[nodiscard]] const Ref* advance(const Ref* row, std::uint64_t level, std::int64_t key) const {
    for (const Node* node = memory_.at(row[level]); node != nullptr && node->key < key;
         node = memory_.at(row[level])) {
      row = node->next;
    }
    return row;
  }
  // Returns the reference to `key` or its successor, and the references before it on every level.
  Ref find(std::int64_t key, Before& before) {
    Ref* row = root_.head.data();
    for (std::uint64_t level = root_.levels; level-- > 0;) {
      row = const_cast<Ref*>(advance(row, level, key));
      before[level] = &row[level];
    }
    return row[0];
  }
  Ref filled(Ref node_ref, std::int64_t key, std::uint64_t levels) {
    Node* node = memory_.at(node_ref);
    node->key = key;
    node->levels = levels;
    return node_ref;
  }

  Memory& memory_;
  Root& root_;
};

}  // namespace nearfar::bench
