// A sorted singly linked list of keys.
#pragma once

#include <cstdint>
#include <string>

#include "bench/intset/safety.hpp"

namespace nearfar::bench {

// Data layout, independent of the safety of changes.
template <typename Memory>
struct ListLayout {
  struct Node;
  using Ref = typename Memory::template Ref<Node>;
  struct Node {
    std::int64_t key;
    Ref next;
  };
  struct Root {
    Ref head;
  };
};

// The published list takes snapshots of the whole previous node and of its root.
template <typename Memory, Safety safety>
class List {
  using Node = typename ListLayout<Memory>::Node;
  using Ref = typename ListLayout<Memory>::Ref;

 public:
  using Root = typename ListLayout<Memory>::Root;
  static constexpr const char* name = "list";
  static constexpr std::size_t locks = 1;

  List(Memory& memory, Root& root, std::uint64_t /*scale*/) : memory_(memory), root_(root) {}

  static std::size_t lock_of(std::int64_t /*key*/) noexcept { return 0; }

  [[nodiscard]] bool contains(std::int64_t key) const {
    const Ref* from = before(key);
    const Node* node = memory_.at(*from);
    return node != nullptr && node->key == key;
  }

  template <typename Draw>
  bool insert(std::int64_t key, Draw& /*draw*/) {
    Ref* from = before(key);
    if (const Node* node = memory_.at(*from); node != nullptr && node->key == key) return false;
    memory_.transaction([&] {
      if constexpr (safety == Safety::published) memory_.snapshot(&root_, sizeof root_);
      const Ref node_ref = memory_.template make<Node>(sizeof(Node));
      Node* node = memory_.at(node_ref);
      node->key = key;
      node->next = *from;
      link<safety>(memory_, *from, node_ref);
    });
    return true;
  }

  bool remove(std::int64_t key) {
    Ref* from = before(key);
    const Ref removed = *from;
    const Node* node = memory_.at(removed);
    if (node == nullptr || node->key != key) return false;
    memory_.transaction([&] {
      if constexpr (safety == Safety::published) memory_.snapshot(&root_, sizeof root_);
      link<safety>(memory_, *from, node->next);
      memory_.release(removed);
    });
    return true;
  }

  template <typename Visit>
  void for_each(Visit visit) const {
    for (const Node* node = memory_.at(root_.head); node != nullptr;
         node = memory_.at(node->next)) {
      visit(node->key);
    }
  }

  // Returns an error, or an empty string. `max_elements` bounds the walk, so that a cycle ends.
  [[nodiscard]] std::string check(std::uint64_t max_elements) const {
    std::uint64_t count = 0;
    const Node* last = nullptr;
    for (const Node* node = memory_.at(root_.head); node != nullptr;
         node = memory_.at(node->next)) {
      if (++count > max_elements) return "the list has a cycle or more elements than keys";
      if (last != nullptr && last->key >= node->key) {
        return "key " + std::to_string(node->key) + " follows " + std::to_string(last->key);
      }
      last = node;
    }
    return {};
  }

  // Frees all memory of a set on the heap.
  void clear() {
    while (Node* node = memory_.at(root_.head)) {
      root_.head = node->next;
      memory_.release(node);
    }
  }

 private:
  // Returns the reference to the key, or the one that would refer to it.
  [[nodiscard]] Ref* before(std::int64_t key) const {
    Ref* from = &root_.head;
    for (Node* node = memory_.at(*from); node != nullptr && node->key < key;
         node = memory_.at(*from)) {
      from = &node->next;
    }
    return from;
  }

  Memory& memory_;
  Root& root_;
};

}  // namespace nearfar::bench
