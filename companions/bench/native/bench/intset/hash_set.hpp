// A hash table of chains; new elements come first in their chain.
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

// The published one makes a node in a transaction of its own, then overwrites links in others that
// took no snapshot: these links are neither flushed nor restored.
template <typename Memory, Safety safety>
class HashSet {
  using Node = typename HashLayout<Memory>::Node;
  using Ref = typename HashLayout<Memory>::Ref;
  using Table = typename HashLayout<Memory>::Table;

 public:
  using Root = typename HashLayout<Memory>::Root;
  static constexpr const char* name = "hash";
  // Buckets share locks: enough that few threads meet.
  static constexpr std::size_t locks = 256;

  // `buckets`: a power of two; of a table that is there already, its own number counts.
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
    return memory_.at(*place_of(bucket(key), key)) != nullptr;
  }

  template <typename Draw>
  bool insert(std::int64_t key, Draw& /*draw*/) {
    Ref& first = bucket(key);
    if (memory_.at(*place_of(first, key)) != nullptr) return false;
    if constexpr (safety == Safety::published) {
      Ref fresh{};
      memory_.transaction([&] { fresh = node_of(key, first); });
      memory_.transaction([&] { first = fresh; });
    } else {
      memory_.transaction([&] { link<safety>(memory_, first, node_of(key, first)); });
    }
    return true;
  }

  bool remove(std::int64_t key) {
    Ref* from = place_of(bucket(key), key);
    const Ref gone = *from;
    const Node* node = memory_.at(gone);
    if (node == nullptr) return false;
    if constexpr (safety == Safety::published) {
      memory_.transaction([&] { *from = node->next; });
      memory_.transaction([&] { memory_.release(gone); });
    } else {
      memory_.transaction([&] {
        link<safety>(memory_, *from, node->next);
        memory_.release(gone);
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

  [[nodiscard]] std::string check(std::uint64_t most) const {
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i <= mask_; ++i) {
      for (const Node* node = memory_.at(table_->first[i]); node != nullptr;
           node = memory_.at(node->next)) {
        if (++count > most) return "a bucket has a circle or there are more elements than keys";
        if (&bucket(node->key) != &table_->first[i]) {
          return "key " + std::to_string(node->key) + " is in bucket " + std::to_string(i);
        }
        const Node* rest = memory_.at(node->next);
        if (rest != nullptr && rest->key == node->key) {
          return "key " + std::to_string(node->key) + " is there twice";
        }
      }
    }
    return {};
  }

  // Gives all memory back; of a set on the heap.
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
  [[nodiscard]] Ref* place_of(Ref& first, std::int64_t key) const {
    Ref* from = &first;
    for (Node* node = memory_.at(*from); node != nullptr && node->key != key;
         node = memory_.at(*from)) {
      from = &node->next;
    }
    return from;
  }
  Ref node_of(std::int64_t key, Ref next) {
    const Ref fresh = memory_.template make<Node>(sizeof(Node));
    Node* node = memory_.at(fresh);
    node->key = key;
    node->next = next;
    return fresh;
  }

  Memory& memory_;
  Root& root_;
  Table* table_ = nullptr;
  std::uint64_t mask_ = 0;
};

}  // namespace nearfar::bench
