// The B+-tree of transactions.cpp.
#pragma once

#include <algorithm>

#include "application.hpp"

namespace application {

// A tree of 64-bit keys and values; nodes come from an arena of the object `name`.
class Tree {
 public:
  Tree(const char* name, uint64_t keys)
      // Half full at worst, and inner nodes are few.
      : nodes_(region<Node>(name, keys * 2 / kFanOut * 9 / 8 + 64)) {
    root_ = fresh(true);
  }

  // Returns the place of the first key not below `key`.
  struct Place {
    const Tree* tree;
    uint32_t node;
    uint32_t at;
    bool there() const { return node != kNone; }
    uint64_t key() const { return tree->nodes_[node].keys[at]; }
    uint64_t value() const { return tree->nodes_[node].values[at]; }
    void next() {
      if (++at == tree->nodes_[node].count) *this = {tree, tree->nodes_[node].right, 0};
    }
  };
  Place from(uint64_t key) const {
    uint32_t at = root_;
    while (!nodes_[at].leaf) at = static_cast<uint32_t>(nodes_[at].values[child(nodes_[at], key)]);
    const Node& leaf = nodes_[at];
    const auto place =
        static_cast<uint32_t>(std::lower_bound(leaf.keys, leaf.keys + leaf.count, key) - leaf.keys);
    return place < leaf.count ? Place{this, at, place} : Place{this, leaf.right, 0};
  }
  uint64_t find(uint64_t key) const {
    const Place place = from(key);
    if (!place.there() || place.key() != key) {
      fprintf(stderr, "key %lu is not there\n", key);
      exit(1);
    }
    return place.value();
  }
  void insert(uint64_t key, uint64_t value) {
    uint64_t new_key = 0;
    const uint32_t split = insert(root_, key, value, new_key);
    if (split == kNone) return;
    const uint32_t top = fresh(false);
    nodes_[top].count = 2;
    nodes_[top].keys[0] = 0;
    nodes_[top].values[0] = root_;
    nodes_[top].keys[1] = new_key;
    nodes_[top].values[1] = split;
    root_ = top;
  }

 private:
  static constexpr uint32_t kFanOut = 32;
  static constexpr uint32_t kNone = ~0u;
  struct Node {
    uint32_t count;
    uint32_t leaf;
    uint32_t right;
    uint64_t keys[kFanOut];
    uint64_t values[kFanOut];
  };

  static uint64_t child(const Node& node, uint64_t key) {
    return static_cast<uint64_t>(std::upper_bound(node.keys + 1, node.keys + node.count, key) -
                                 node.keys) -
           1;
  }
  uint32_t fresh(bool leaf) {
    nodes_[used_] = {0, leaf, kNone, {}, {}};
    return used_++;
  }

  // Returns the node that was split off to the right with its least key, or kNone.
  uint32_t insert(uint32_t number, uint64_t key, uint64_t value, uint64_t& new_key) {
    Node& node = nodes_[number];
    if (!node.leaf) {
      const uint64_t at = child(node, key);
      uint64_t below_key = 0;
      const uint32_t below = insert(static_cast<uint32_t>(node.values[at]), key, value, below_key);
      if (below == kNone) return kNone;
      key = below_key;
      value = below;
    }
    const auto at =
        static_cast<uint32_t>(std::lower_bound(node.keys, node.keys + node.count, key) - node.keys);
    if (node.count < kFanOut) {
      put(node, at, key, value);
      return kNone;
    }
    // Keys that only grow leave full nodes behind.
    const uint32_t kept = at == kFanOut ? kFanOut - 1 : kFanOut / 2;
    const uint32_t other = fresh(node.leaf);
    Node& right = nodes_[other];
    right.count = kFanOut - kept;
    memcpy(right.keys, node.keys + kept, right.count * sizeof right.keys[0]);
    memcpy(right.values, node.values + kept, right.count * sizeof right.values[0]);
    right.right = node.right;
    node.count = kept;
    node.right = other;
    at <= kept ? put(node, at, key, value) : put(right, at - kept, key, value);
    new_key = right.keys[0];
    return other;
  }
  static void put(Node& node, uint32_t at, uint64_t key, uint64_t value) {
    const uint64_t after = node.count - at;
    memmove(node.keys + at + 1, node.keys + at, after * sizeof key);
    memmove(node.values + at + 1, node.values + at, after * sizeof value);
    node.keys[at] = key;
    node.values[at] = value;
    node.count++;
  }

  Node* nodes_;
  uint32_t used_ = 0;
  uint32_t root_;
};

}  // namespace application
