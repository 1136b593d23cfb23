// Red-black tree. Nodes have no parent pointer: the path is stored instead, so a rotation writes
// three old nodes and not the subtrees that it moves.
#pragma once

#include <cstdint>
#include <optional>

#include "bench/maps/broken.hpp"
#include "bench/maps/memory.hpp"

namespace nearfar::bench {

template <typename Memory>
class RedBlack {
  struct Node {
    std::uint64_t key;
    std::uint64_t word;
    Ref<Node> child[2];
    std::uint64_t red;
  };
  struct Step {
    Node* node;
    unsigned side;  // of the child taken
  };
  // Maximum depth: twice log2 of the nodes.
  static constexpr unsigned max_depth = 128;
  struct Path {
    Step step[max_depth];
    unsigned length = 0;
    void push(Node* node, unsigned side) { step[length++] = {node, side}; }
  };

 public:
  struct Header {
    Ref<Node> root;
  };

  RedBlack(Memory& memory, Header& header) : memory_(memory), header_(header) {}

  void make_room(std::uint64_t) {}

  std::optional<std::uint64_t> put(std::uint64_t key, std::uint64_t word) {
    Path path;
    if (Node* found = find(key, path)) {
      const std::uint64_t old = found->word;
      memory_.change([&] {
        memory_.touch(&found->word);
        found->word = word;
      });
      return old;
    }
    memory_.change([&] {
      const Ref<Node> made = memory_.template make<Node>();
      *memory_.at(made) = {key, word, {}, 1};
      memory_.persist_new(memory_.at(made), sizeof(Node));
      link(path, path.length, made);
      colour_after_insert(path, memory_.at(made));
    });
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::uint64_t> get(std::uint64_t key) const {
    for (Ref<Node> at = header_.root; at;) {
      const Node* node = memory_.at(at);
      if (node->key == key) return node->word;
      at = node->child[key > node->key ? 1 : 0];
    }
    return std::nullopt;
  }

  std::optional<std::uint64_t> remove(std::uint64_t key) {
    Path path;
    Node* found = find(key, path);
    if (found == nullptr) return std::nullopt;
    const std::uint64_t old = found->word;
    memory_.change([&] {
      Node* removed = found;
      if (found->child[0] && found->child[1]) {
        // Its successor replaces it, and the successor's node is removed.
        path.push(found, 1);
        removed = memory_.at(found->child[1]);
        while (removed->child[0]) {
          path.push(removed, 0);
          removed = memory_.at(removed->child[0]);
        }
        memory_.touch(found);
        found->key = removed->key;
        found->word = removed->word;
      }
      const Ref<Node> dropped = linked(path, path.length);
      const Ref<Node> below = removed->child[removed->child[0] ? 0 : 1];
      const bool black = removed->red == 0;
      link(path, path.length, below);
      memory_.drop(dropped);
      if (black) colour_after_remove(path, below);
    });
    return old;
  }

  template <typename F>
  void foreach (F&& f) const {
    walk(header_.root, f);
  }

  void check() const {
    require(!is_red(header_.root), "the root is red");
    std::uint64_t last = 0;
    bool first = true;
    check(header_.root, last, first);
  }

 private:
  [[nodiscard]] bool is_red(Ref<Node> ref) const { return ref && memory_.at(ref)->red != 0; }

  void colour(Node* node, std::uint64_t red) {
    if (node->red == red) return;
    memory_.touch(node);
    node->red = red;
  }

  // The node of `key`, or null; the way to it, or to where it belongs.
  Node* find(std::uint64_t key, Path& path) const {
    for (Ref<Node> at = header_.root; at;) {
      Node* node = memory_.at(at);
      if (node->key == key) return node;
      const unsigned side = key > node->key ? 1 : 0;
      path.push(node, side);
      at = node->child[side];
    }
    return nullptr;
  }

  // What hangs at the end of the first `length` steps.
  [[nodiscard]] Ref<Node> linked(const Path& path, unsigned length) const {
    if (length == 0) return header_.root;
    const Step& step = path.step[length - 1];
    return step.node->child[step.side];
  }
  void link(Path& path, unsigned length, Ref<Node> to) {
    if (length == 0) {
      memory_.touch(&header_.root);
      header_.root = to;
      return;
    }
    const Step& step = path.step[length - 1];
    memory_.touch(step.node);
    step.node->child[step.side] = to;
  }

  // Lowers the node at the end of the first `length` steps to `side`; its other child takes its
  // place. Returns that child.
  Node* rotate(Path& path, unsigned length, unsigned side) {
    const Ref<Node> low = linked(path, length);
    Node* lowered = memory_.at(low);
    const Ref<Node> up = lowered->child[1 - side];
    Node* raised = memory_.at(up);
    memory_.touch(lowered);
    memory_.touch(raised);
    lowered->child[1 - side] = raised->child[side];
    raised->child[side] = low;
    link(path, length, up);
    return raised;
  }

  void colour_after_insert(Path& path, Node* node) {
    unsigned length = path.length;  // of the way to `node`, which is red
    while (length >= 2 && path.step[length - 1].node->red != 0) {
      Node* parent = path.step[length - 1].node;
      Node* grand = path.step[length - 2].node;
      const unsigned side = path.step[length - 2].side;
      const Ref<Node> uncle = grand->child[1 - side];
      if (is_red(uncle)) {
        colour(parent, 0);
        colour(memory_.at(uncle), 0);
        colour(grand, 1);
        node = grand;
        length -= 2;
        continue;
      }
      if (path.step[length - 1].side != side) rotate(path, length - 1, side);
      Node* raised = rotate(path, length - 2, 1 - side);
      colour(raised, 0);
      colour(grand, 1);
      return;
    }
    if (length == 0) colour(node, 0);
  }

  // At the path's end hangs `below`, with one black node too few above it.
  void colour_after_remove(Path& path, Ref<Node> below) {
    if (is_red(below)) return colour(memory_.at(below), 0);
    unsigned length = path.length;
    while (length > 0) {
      Node* parent = path.step[length - 1].node;
      const unsigned side = path.step[length - 1].side;
      Node* sibling = memory_.at(parent->child[1 - side]);
      if (sibling->red != 0) {
        rotate(path, length - 1, side);
        colour(sibling, 0);
        colour(parent, 1);
        // The sibling is above the parent now.
        path.step[length - 1] = {sibling, side};
        path.step[length] = {parent, side};
        ++length;
        sibling = memory_.at(parent->child[1 - side]);
      }
      const bool far_red = is_red(sibling->child[1 - side]);
      if (!far_red && !is_red(sibling->child[side])) {
        colour(sibling, 1);
        if (parent->red != 0) return colour(parent, 0);
        --length;
        continue;
      }
      if (!far_red) {
        // The sibling is on the parent's other side, so it needs its own path.
        Path to_sibling;
        to_sibling.push(parent, 1 - side);
        Node* near = rotate(to_sibling, 1, 1 - side);
        colour(near, 0);
        colour(sibling, 1);
        sibling = near;
      }
      rotate(path, length - 1, side);
      colour(sibling, parent->red);
      colour(parent, 0);
      return colour(memory_.at(sibling->child[1 - side]), 0);
    }
  }

  template <typename F>
  void walk(Ref<Node> at, const F& f) const {
    if (!at) return;
    const Node& node = *memory_.at(at);
    walk(node.child[0], f);
    f(node.key, node.word);
    walk(node.child[1], f);
  }

  // Returns the number of black nodes on every path.
  unsigned check(Ref<Node> at, std::uint64_t& last, bool& first) const {
    if (!at) return 0;
    const Node& node = *memory_.at(at);
    require(node.red == 0 || (!is_red(node.child[0]) && !is_red(node.child[1])),
            "a red node has a red child");
    const unsigned left = check(node.child[0], last, first);
    require(first || node.key > last, "keys are not in order");
    last = node.key;
    first = false;
    require(check(node.child[1], last, first) == left,
            "paths have different numbers of black nodes");
    return left + (node.red == 0 ? 1 : 0);
  }

  Memory& memory_;
  Header& header_;
};

}  // namespace nearfar::bench
