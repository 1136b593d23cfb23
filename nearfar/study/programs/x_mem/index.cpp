// A transactional index in kind: orders that look rows up in a tree, change one, and are logged.
//
//   index ROWS TRANSACTIONS
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "dice.hpp"
#include "nearfar/mark.h"

namespace {

constexpr uint64_t kFanOut = 16;
constexpr uint64_t kRowsAnOrder = 4;
constexpr uint64_t kLogRecords = 1u << 16;

struct Node {
  uint64_t keys[kFanOut];  // The least key of each child; of a leaf, the key.
  uint64_t children[kFanOut];
};

struct Row {
  uint64_t key;
  uint64_t stock;
  uint64_t fields[13];
  uint64_t check;
};

struct Record {
  uint64_t key;
  Row before;
};

template <typename Element>
std::vector<Element> tagged(const char* name, uint64_t count) {
  NEARFAR_TAG(name);
  return std::vector<Element>(count);
}

uint64_t key_of(uint64_t number) { return number * 10 + 7; }

uint64_t check_of(const Row& row) {
  uint64_t check = row.key ^ row.stock;
  for (const uint64_t field : row.fields) check = (check ^ field) * 0x100000001B3u;
  return check;
}

// Levels of nodes, the leaves last; as bulk loading leaves them, and most full.
using Tree = std::vector<std::vector<Node>>;

Tree make_tree(uint64_t rows) {
  Tree tree;
  uint64_t below = rows;
  do {
    const uint64_t nodes = (below + kFanOut - 1) / kFanOut;
    NEARFAR_TAG(tree.empty() ? "leaves" : "inner nodes");
    std::vector<Node> level(nodes);
    for (uint64_t i = 0; i < nodes * kFanOut; i++) {
      const bool there = i < below;
      const uint64_t least = tree.empty() ? key_of(i) : there ? tree.front()[i].keys[0] : 0;
      level[i / kFanOut].keys[i % kFanOut] = there ? least : ~uint64_t{0};
      level[i / kFanOut].children[i % kFanOut] = i;
    }
    tree.insert(tree.begin(), std::move(level));
    below = nodes;
  } while (below > 1);
  return tree;
}

uint64_t find(const Tree& tree, uint64_t key) {
  uint64_t at = 0;
  for (const std::vector<Node>& level : tree) {
    const Node& node = level[at];
    uint64_t child = 0;
    while (child + 1 < kFanOut && node.keys[child + 1] <= key) child++;
    at = node.children[child];
  }
  return at;
}

}  // namespace

int main(int count, char** words) {
  const uint64_t rows_count = count > 1 ? strtoull(words[1], nullptr, 10) : 1u << 20;
  const uint64_t transactions = count > 2 ? strtoull(words[2], nullptr, 10) : 1u << 19;
  const Tree tree = make_tree(rows_count);
  std::vector<Row> rows = tagged<Row>("rows", rows_count);
  for (uint64_t i = 0; i < rows_count; i++) {
    rows[i].key = key_of(i);
    rows[i].stock = 100;
    rows[i].check = check_of(rows[i]);
  }
  std::vector<Record> log = tagged<Record>("log", kLogRecords);
  Dice dice(2);
  uint64_t wrong = 0;
  uint64_t logged = 0;
  NEARFAR_BEGIN("work");
  for (uint64_t transaction = 0; transaction < transactions; transaction++) {
    Row* changed = nullptr;
    for (uint64_t i = 0; i < kRowsAnOrder; i++) {
      const bool popular = i % 2 == 0;
      const uint64_t key = key_of(popular ? dice.skewed_below(rows_count) : dice.below(rows_count));
      Row& row = rows[find(tree, key)];
      wrong += row.key != key || row.check != check_of(row);
      changed = &row;
    }
    log[logged++ % kLogRecords] = {changed->key, *changed};
    changed->stock = changed->stock ? changed->stock - 1 : 100;
    changed->check = check_of(*changed);
  }
  NEARFAR_END("work", transactions);
  printf("wrong rows %llu\n", static_cast<unsigned long long>(wrong));
  return wrong == 0 ? 0 : 1;
}
