// A hash table with chains; new elements come first in their chain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bench/intset/safety.hpp"

namespace nearfar::bench {

template <typename Memory>
struct HashLayout {
  struct Node;
  using Ref = typename Memory::template Ref<Node>;
  struct Node {
    std::int64_t key;
    Ref next;
  };
  struct Table {
    std::uint64_t buckets;
    Ref first[];  // NOLINT: as many as `buckets`
  };
  struct Root {
    typename Memory::template Ref<Table> table;
  };
};

// The published version creates a node in a transaction, then overwrites links in other
// transactions without a snapshot: these links are neither flushed nor restored.
template <typename Memory, Safety safety>
class HashSet {
  using Node = typename HashLayout<Memory>::Node;
  using Ref = typename HashLayout<Memory>::Ref;
  using Table = typename HashLayout<Memory>::Table;

 public:
  using Root = typename HashLayout<Memory>::Root;
  static constexpr const char* name = "hash";
  // Locks shared by buckets; enough for little contention.
  static constexpr std::size_t locks = 256;

  // `buckets`: a power of two; an existing table keeps its own number.
  HashSet(Memory& memory, Root& root, std::uint64_t buckets) : memory_(memory), root_(root) {
    if (memory.at(root.table) == nullptr) {
      memory.transaction([&] {
        const auto table =
            memory.template make_zeroed<Table>(sizeof(Table) + buckets * sizeof(Ref));
        memory.at(table)->buckets = buckets;
        memory.change(root.table, table);
      });
    }
    table_ = memory.at(root.table);
    mask_ = table_->buckets - 1;
  }

  static std::size_t lock_of(std::int64_t key) noexcept { return hash(key) % locks; }

  [[nodiscard]] bool contains(std::int64_t key) const {
    return memory_.at(*link_to(bucket(key), key)) != nullptr;
  }

  template <typename Draw>
  bool insert(std::int64_t key, Draw& /*draw*/) {
    Ref& first = bucket(key);
    if (memory_.at(*link_to(first, key)) != nullptr) return false;
    if constexpr (safety == Safety::published) {
      Ref node_ref{};
      memory_.transaction([&] { node_ref = node_of(key, first); });
      memory_.transaction([&] { first = node_ref; });
    } else {
      memory_.transaction([&] { link<safety>(memory_, first, node_of(key, first)); });
    }
    return true;
  }

  bool remove(std::int64_t key) {
    Ref* from = link_to(bucket(key), key);
    const Ref removed = *from;
    const Node* node = memory_.at(removed);
    if (node == nullptr) return false;
    if constexpr (safety == Safety::published) {
      memory_.transaction([&] { *from = node->next; });
      memory_.transaction([&] { memory_.release(removed); });
    } else {
      memory_.transaction([&] {
        link<safety>(memory_, *from, node->next);
        memory_.release(removed);
      });
    }
    return true;
  }

  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::uint64_t i = 0; i <= mask_; ++i) {
      for (const Node* node = memory_.at(table_->first[i]); node != nullptr;
           node = memory_.at(node->next)) {
        visit(node->key);
      }
    }
  }

  [[nodiscard]] std::string check(std::uint64_t max_elements) const {
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i <= mask_; ++i) {
      for (const Node* node = memory_.at(table_->first[i]); node != nullptr;
           node = memory_.at(node->next)) {
        if (++count > max_elements) return "a bucket has a cycle or more elements than keys";
        if (&bucket(node->key) != &table_->first[i]) {
          return "key " + std::to_string(node->key) + " is in bucket " + std::to_string(i);
        }
        const Node* rest = memory_.at(node->next);
        if (rest != nullptr && rest->key == node->key) {
          return "key " + std::to_string(node->key) + " occurs twice";
        }
      }
    }
    return {};
  }

  // Frees all memory of a set on the heap.
  void clear() {
    for (std::uint64_t i = 0; i <= mask_; ++i) {
      while (Node* node = memory_.at(table_->first[i])) {
        table_->first[i] = node->next;
        memory_.release(node);
      }
    }
    memory_.release(root_.table);
  }

 private:
  // Fibonacci hashing: the high half of a product with 2^64 over the golden ratio.
  static std::uint64_t hash(std::int64_t key) noexcept {
    return (static_cast<std::uint64_t>(key) * 0x9E3779B97F4A7C15ULL) >> 32U;
  }
  [[nodiscard]] Ref& bucket(std::int64_t key) const { return table_->first[hash(key) & mask_]; }
  [[nodiscard]] Ref* link_to(Ref& first, std::int64_t key) const {
    Ref* from = &first;
    for (Node* node = memory_.at(*from); node != nullptr && node->key != key;
         node = memory_.at(*from)) {
      from = &node->next;
    }
    return from;
  }
  Ref node_of(std::int64_t key, Ref next) {
    const Ref node_ref = memory_.template make<Node>(sizeof(Node));
    Node* node = memory_.at(node_ref);
    node->key = key;
    node->next = next;
    return node_ref;
  }

  Memory& memory_;
  Root& root_;
  Table* table_ = nullptr;
  std::uint64_t mask_ = 0;
};

}  // namespace nearfar::bench
