// B-tree with up to 15 items per node: a leaf is four cache lines. Inner nodes contain items too.
// An insert splits full nodes from the leaf upwards. A remove repairs nodes with fewer than 4 items
// (not half), so that a repair makes room for several more removes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "bench/maps/broken.hpp"
#include "bench/maps/memory.hpp"

namespace nearfar::bench {

template <typename Memory>
class BTree {
  static constexpr unsigned max_items = 15;
  static constexpr unsigned min_items = 4;
  static constexpr unsigned half = max_items / 2;
  // Maximum levels: at least 4 children each give 4^32 leaves.
  static constexpr unsigned max_depth = 33;

  struct Item {
    std::uint64_t key;
    std::uint64_t word;
  };
  struct Node {
    std::uint32_t items;
    std::uint32_t inner;
    Item item[max_items];
    Ref<Node> child[max_items + 1];  // absent in a leaf
  };
  struct Step {
    Node* node;
    Ref<Node> ref;
    unsigned place;  // index of the first item that is not less, and of the child taken
  };
  struct Path {
    Step step[max_depth];
    unsigned length = 0;
    Step& last() { return step[length - 1]; }
  };

 public:
  struct Header {
    Ref<Node> root;
  };

  BTree(Memory& memory, Header& header) : memory_(memory), header_(header) {}

  void make_room(std::uint64_t) {}

  std::optional<std::uint64_t> put(std::uint64_t key, std::uint64_t word) {
    if (!header_.root) {
      memory_.change([&] {
        const Ref<Node> made = make(false);
        memory_.at(made)->items = 1;
        memory_.at(made)->item[0] = {key, word};
        memory_.set(header_.root, made);
      });
      return std::nullopt;
    }
    Path path;
    if (Item* found = find(key, path)) {
      const std::uint64_t old = found->word;
      memory_.change([&] {
        memory_.touch(&found->word);
        found->word = word;
      });
      return old;
    }
    memory_.change([&] { insert(path, {key, word}); });
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::uint64_t> get(std::uint64_t key) const {
    Ref<Node> at = header_.root;
    while (at) {
      const Node& node = *memory_.at(at);
      const unsigned place = place_of(node, key);
      if (place < node.items && node.item[place].key == key) return node.item[place].word;
      at = node.inner != 0 ? node.child[place] : Ref<Node>{};
    }
    return std::nullopt;
  }

  std::optional<std::uint64_t> remove(std::uint64_t key) {
    Path path;
    Item* found = find(key, path);
    if (found == nullptr) return std::nullopt;
    const std::uint64_t old = found->word;
    memory_.change([&] {
      if (path.last().node->inner != 0) {
        // Its predecessor replaces it, and is removed from its leaf.
        Ref<Node> at = path.last().node->child[path.last().place];
        for (;;) {
          Node* node = memory_.at(at);
          path.step[path.length++] = {node, at, node->inner != 0 ? node->items : node->items - 1};
          if (node->inner == 0) break;
          at = node->child[node->items];
        }
        memory_.touch(found);
        *found = path.last().node->item[path.last().place];
      }
      remove_from_leaf(path);
    });
    return old;
  }

  template <typename F>
  void foreach (F&& f) const {
    walk(header_.root, f);
  }

  void check() const {
    if (!header_.root) return;
    unsigned depth = 0;
    for (Ref<Node> at = header_.root; memory_.at(at)->inner != 0; at = memory_.at(at)->child[0]) {
      require(++depth < max_depth, "it is too deep");
    }
    std::uint64_t last = 0;
    bool first = true;
    check(header_.root, depth, true, last, first);
  }

 private:
  static constexpr std::size_t leaf_bytes = offsetof(Node, child);
  static std::size_t bytes(const Node& node) { return node.inner != 0 ? sizeof(Node) : leaf_bytes; }

  Ref<Node> make(bool inner) {
    const Ref<Node> made = memory_.template make<Node>(inner ? sizeof(Node) : leaf_bytes);
    memory_.at(made)->items = 0;
    memory_.at(made)->inner = inner ? 1 : 0;
    return made;
  }
  void drop(Ref<Node> ref) { memory_.drop(ref, bytes(*memory_.at(ref))); }
  void touch(Node& node) { memory_.touch(&node, bytes(node)); }

  static unsigned place_of(const Node& node, std::uint64_t key) {
    unsigned place = 0;
    while (place < node.items && node.item[place].key < key) ++place;
    return place;
  }

  // Returns the item of `key` or null; `path` gets the steps to it, or to the leaf where it
  // belongs.
  Item* find(std::uint64_t key, Path& path) const {
    Ref<Node> at = header_.root;
    while (at) {
      Node* node = memory_.at(at);
      const unsigned place = place_of(*node, key);
      path.step[path.length++] = {node, at, place};
      if (place < node->items && node->item[place].key == key) return &node->item[place];
      at = node->inner != 0 ? node->child[place] : Ref<Node>{};
    }
    return nullptr;
  }

  void insert(Path& path, Item item) {
    Ref<Node> right{};  // in inner nodes: the child after `item`
    while (path.length > 0) {
      const Step step = path.step[--path.length];
      Node& node = *step.node;
      if (node.items < max_items) {
        if (node.inner != 0) {
          touch(node);
        } else {  // the used items and the next one
          memory_.touch(&node, offsetof(Node, item) + (node.items + 1) * sizeof(Item));
        }
        insert_item(node, step.place, item, right);
        return;
      }
      touch(node);
      const Ref<Node> made = make(node.inner != 0);
      Node& new_node = *memory_.at(made);
      const Item middle = node.item[half];
      new_node.items = max_items - half - 1;
      std::copy_n(node.item + half + 1, new_node.items, new_node.item);
      if (node.inner != 0) std::copy_n(node.child + half + 1, new_node.items + 1, new_node.child);
      node.items = half;
      if (step.place <= half) {
        insert_item(node, step.place, item, right);
      } else {
        insert_item(new_node, step.place - half - 1, item, right);
      }
      item = middle;
      right = made;
    }
    const Ref<Node> made = make(true);
    Node& root = *memory_.at(made);
    root.items = 1;
    root.item[0] = item;
    root.child[0] = header_.root;
    root.child[1] = right;
    memory_.set(header_.root, made);
  }

  static void insert_item(Node& node, unsigned place, Item item, Ref<Node> right) {
    std::copy_backward(node.item + place, node.item + node.items, node.item + node.items + 1);
    node.item[place] = item;
    if (node.inner != 0) {
      std::copy_backward(node.child + place + 1, node.child + node.items + 1,
                         node.child + node.items + 2);
      node.child[place + 1] = right;
    }
    ++node.items;
  }

  // Erases the item and, in inner nodes, the child after it.
  static void erase_item(Node& node, unsigned place) {
    std::copy(node.item + place + 1, node.item + node.items, node.item + place);
    if (node.inner != 0) {
      std::copy(node.child + place + 2, node.child + node.items + 1, node.child + place + 1);
    }
    --node.items;
  }

  // Removes the item of the path's last step, which is in a leaf.
  void remove_from_leaf(Path& path) {
    Step step = path.step[--path.length];
    if (step.node->items > min_items || path.length == 0) {
      // Nothing else changes this leaf: its used items suffice.
      memory_.touch(step.node, offsetof(Node, item) + step.node->items * sizeof(Item));
    } else {
      touch(*step.node);
    }
    erase_item(*step.node, step.place);
    while (step.node->items < min_items && path.length > 0) {
      const Step above = path.step[--path.length];
      repair(*above.node, above.place);
      step = above;
    }
    if (path.length == 0 && step.node->items == 0 && step.ref == header_.root) {
      memory_.set(header_.root, step.node->inner != 0 ? step.node->child[0] : Ref<Node>{});
      drop(step.ref);
    }
  }

  // Repairs the child at `place`, which has too few items: takes one from a sibling, or joins them.
  void repair(Node& parent, unsigned place) {
    touch(parent);
    if (place < parent.items && memory_.at(parent.child[place + 1])->items > min_items) {
      Node& node = *memory_.at(parent.child[place]);
      Node& right = *memory_.at(parent.child[place + 1]);
      touch(node);
      touch(right);
      insert_item(node, node.items, parent.item[place],
                  right.inner != 0 ? right.child[0] : Ref<Node>{});
      parent.item[place] = right.item[0];
      if (right.inner != 0) right.child[0] = right.child[1];
      erase_item(right, 0);
    } else if (place > 0 && memory_.at(parent.child[place - 1])->items > min_items) {
      Node& node = *memory_.at(parent.child[place]);
      Node& left = *memory_.at(parent.child[place - 1]);
      touch(node);
      touch(left);
      const Ref<Node> first = node.inner != 0 ? node.child[0] : Ref<Node>{};
      insert_item(node, 0, parent.item[place - 1], first);
      if (node.inner != 0) node.child[0] = left.child[left.items];
      parent.item[place - 1] = left.item[left.items - 1];
      --left.items;
    } else {
      join(parent, place < parent.items ? place : place - 1);
    }
  }

  // Joins the children next to the item at `place`, and the item.
  void join(Node& parent, unsigned place) {
    Node& left = *memory_.at(parent.child[place]);
    const Ref<Node> removed = parent.child[place + 1];
    const Node& right = *memory_.at(removed);
    touch(left);
    left.item[left.items] = parent.item[place];
    std::copy_n(right.item, right.items, left.item + left.items + 1);
    if (left.inner != 0) {
      std::copy_n(right.child, right.items + 1, left.child + left.items + 1);
    }
    left.items += right.items + 1;
    erase_item(parent, place);
    drop(removed);
  }

  template <typename F>
  void walk(Ref<Node> at, const F& f) const {
    if (!at) return;
    const Node& node = *memory_.at(at);
    for (unsigned i = 0; i < node.items; ++i) {
      if (node.inner != 0) walk(node.child[i], f);
      f(node.item[i].key, node.item[i].word);
    }
    if (node.inner != 0) walk(node.child[node.items], f);
  }

  void check(Ref<Node> at, unsigned depth, bool root, std::uint64_t& last, bool& first) const {
    require(static_cast<bool>(at), "a child is missing");
    const Node& node = *memory_.at(at);
    require(node.items <= max_items && node.items >= (root ? 1 : min_items),
            "a node has too few items");
    require((node.inner != 0) == (depth > 0), "leaves are not all equally deep");
    for (unsigned i = 0; i <= node.items; ++i) {
      if (node.inner != 0) check(node.child[i], depth - 1, false, last, first);
      if (i == node.items) break;
      require(first || node.item[i].key > last, "keys are not in order");
      last = node.item[i].key;
      first = false;
    }
  }

  Memory& memory_;
  Header& header_;
};

}  // namespace nearfar::bench
