// A transactional store in memory: orders, payments and queries over B+-trees, in kind those of
// TPC-C, one after the other as in a partition of VoltDB.
//
//   transactions [WAREHOUSES [TRANSACTIONS]] [--latencies FILE] [--huge-pages]
//
// Each comes as text through a socket, is parsed, keeps what it overwrites to undo it (one order
// in a hundred names no real item and is taken back), and is logged with a checksum, the log
// written to a file group by group. Rows and trees of each table are objects of their own.
#include <algorithm>

#include "application.hpp"

namespace {

using namespace application;

constexpr uint64_t kItems = 100'000;
constexpr uint64_t kDistricts = 10;
constexpr uint64_t kCustomers = 3000;  // Of a district.
constexpr uint64_t kNames = 1000;
constexpr uint64_t kFirstOrders = 3000;  // Of a district.
constexpr uint64_t kMostLines = 15;
constexpr uint64_t kNoItem = kItems;

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

// Sizes of rows are TPC-C's.
struct Stock {
  uint64_t quantity, ordered, times, remote;
  char info[10][24];
  char data[50];
};
struct Customer {
  int64_t balance, paid;
  uint64_t payments, deliveries;
  char name[16];
  char about[600];
};
struct Item {
  uint64_t price;
  char name[24], data[50];
};
struct Order {
  uint64_t customer, first_line, lines, delivered;
};
struct Line {
  uint64_t item, amount, quantity;
  char info[24];
};
struct Payment {
  uint64_t customer, amount, when;
  char about[24];
};

uint64_t district_key(uint64_t district, uint64_t number) { return district << 32 | number; }

class Log {
 public:
  Log() : file_(tmpfile()), buffer_(region<char>("log", kGroup + kRecord)) {
    if (file_ == nullptr) fail("the log's file");
    for (uint32_t i = 0; i < 256; i++) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; bit++) value = value >> 1 ^ (value & 1 ? 0xEDB88320u : 0);
      crc_[i] = value;
    }
  }
  void append(std::string_view text) {
    uint32_t sum = ~0u;
    for (const char c : text) sum = crc_[(sum ^ static_cast<uint8_t>(c)) & 255] ^ sum >> 8;
    const auto length = static_cast<uint32_t>(text.size());
    memcpy(buffer_ + used_, &length, sizeof length);
    memcpy(buffer_ + used_ + sizeof length, &sum, sizeof sum);
    memcpy(buffer_ + used_ + 2 * sizeof sum, text.data(), length);
    used_ += length + 2 * sizeof sum;
    if (used_ < kGroup) return;
    // The file wraps: a log that is shipped and cut.
    const auto offset = static_cast<off_t>(groups_++ % kGroups * kGroup);
    if (pwrite(fileno(file_), buffer_, kGroup, offset) < 0) fail("the log's file");
    used_ = 0;
  }

 private:
  static constexpr uint64_t kGroup = 16384;
  static constexpr uint64_t kRecord = 1024;
  static constexpr uint64_t kGroups = 256;
  FILE* file_;
  char* buffer_;
  uint64_t used_ = 0;
  uint64_t groups_ = 0;
  uint32_t crc_[256];
};

class Undo {
 public:
  template <typename Value>
  void keep(Value& place) {
    const Entry entry{&place, sizeof place, used_};
    memcpy(before_ + used_, &place, sizeof place);
    used_ += sizeof place;
    entries_.push_back(entry);
  }
  void take_back() {
    for (; !entries_.empty(); entries_.pop_back()) {
      memcpy(entries_.back().place, before_ + entries_.back().at, entries_.back().bytes);
    }
  }
  void forget() {
    entries_.clear();
    used_ = 0;
  }

 private:
  struct Entry {
    void* place;
    uint64_t bytes, at;
  };
  std::vector<Entry> entries_;
  char before_[16384];
  uint64_t used_ = 0;
};

// Reads the numbers of a request one after the other.
class Numbers {
 public:
  explicit Numbers(std::string_view text) : at_(text.data() + text.find(' ')) {}
  uint64_t next() {
    char* end = nullptr;
    const uint64_t value = strtoull(at_, &end, 10);
    at_ = end;
    return value;
  }

 private:
  const char* at_;
};

enum Kind : uint64_t { kNewOrder, kPayment, kStatus, kDelivery, kStockLevel, kKinds };
constexpr std::array<uint64_t, kKinds> kMixInHundred = {45, 43, 4, 4, 4};  // TPC-C's

class Store {
 public:
  Store(uint64_t warehouses, uint64_t transactions)
      : districts_(warehouses * kDistricts),
        most_orders_(districts_ * kFirstOrders + transactions),
        stock_(region<Stock>("stock", warehouses * kItems)),
        customers_(region<Customer>("customers", districts_ * kCustomers)),
        items_(region<Item>("items", kItems)),
        orders_(region<Order>("orders", most_orders_)),
        lines_(region<Line>("order lines", most_orders_ * (kMostLines + 5) / 2)),
        payments_(region<Payment>("payments", transactions)),
        stock_tree_("stock tree", warehouses * kItems),
        customer_tree_("customer tree", districts_ * kCustomers),
        name_tree_("customer name tree", districts_ * kCustomers),
        item_tree_("item tree", kItems),
        order_tree_("order tree", most_orders_),
        last_order_(districts_ * kCustomers),
        next_order_(districts_, 0),
        to_deliver_(districts_, kFirstOrders * 7 / 10) {
    Dice dice(1);
    for (uint64_t i = 0; i < kItems; i++) {
      items_[i].price = 100 + dice.below(9900);
      item_tree_.insert(i, i);
      for (uint64_t w = 0; w < warehouses; w++) stock_[w * kItems + i].quantity = 50;
    }
    for (uint64_t i = 0; i < warehouses * kItems; i++) {
      stock_tree_.insert(district_key(i / kItems, i % kItems), i);
    }
    for (uint64_t d = 0; d < districts_; d++) {
      for (uint64_t c = 0; c < kCustomers; c++) {
        const uint64_t row = d * kCustomers + c;
        customer_tree_.insert(district_key(d, c), row);
        name_tree_.insert(district_key(d, c % kNames * kCustomers + c), row);
      }
      for (uint64_t o = 0; o < kFirstOrders; o++) {
        const uint64_t lines = 5 + dice.below(kMostLines - 4);
        Order& order = open_order(d, dice.below(kCustomers), lines);
        for (uint64_t i = 0; i < lines; i++) line(order, i) = {dice.below(kItems), 100, 5, {}};
      }
    }
  }

  std::string_view serve(std::string_view request, char* answer, uint64_t room) {
    Numbers numbers(request);
    int length = 0;
    bool changes = true;
    switch (request[0]) {
      case 'N':
        length = new_order(numbers, answer, room);
        break;
      case 'P':
        length = payment(numbers, answer, room);
        break;
      case 'D':
        length = delivery(numbers, answer, room);
        break;
      case 'S':
        length = status(numbers, answer, room);
        changes = false;
        break;
      default:
        length = stock_level(numbers, answer, room);
        changes = false;
        break;
    }
    if (changes) log_.append(request);
    undo_.forget();
    return {answer, static_cast<size_t>(length)};
  }

 private:
  Line& line(const Order& order, uint64_t i) { return lines_[order.first_line + i]; }

  Order& open_order(uint64_t district, uint64_t customer, uint64_t lines) {
    const uint64_t row = orders_used_++;
    orders_[row] = {customer, lines_used_, lines, 0};
    lines_used_ += lines;
    order_tree_.insert(district_key(district, next_order_[district]++), row);
    last_order_[district * kCustomers + customer] = row;
    return orders_[row];
  }

  // N district customer lines {item quantity}
  int new_order(Numbers& numbers, char* answer, uint64_t room) {
    const uint64_t district = numbers.next();
    const uint64_t number = numbers.next();
    const Customer& customer = customers_[customer_tree_.find(district_key(district, number))];
    const uint64_t count = numbers.next();
    Line lines[kMostLines];
    uint64_t total = 0;
    for (uint64_t i = 0; i < count; i++) {
      const uint64_t item = numbers.next();
      const uint64_t quantity = numbers.next();
      if (item == kNoItem) {
        undo_.take_back();
        return snprintf(answer, room, "taken back: there is no item %lu\n", item);
      }
      const Item& sold = items_[item_tree_.find(item)];
      const uint64_t warehouse = district / kDistricts;
      Stock& stock = stock_[stock_tree_.find(district_key(warehouse, item))];
      undo_.keep(stock.quantity);
      undo_.keep(stock.ordered);
      undo_.keep(stock.times);
      stock.quantity += stock.quantity >= quantity + 10 ? -quantity : 91 - quantity;
      stock.ordered += quantity;
      stock.times++;
      lines[i] = {item, quantity * sold.price, quantity, {}};
      memcpy(lines[i].info, stock.info[district % kDistricts], sizeof lines[i].info);
      total += lines[i].amount;
    }
    Order& order = open_order(district, number, count);
    std::copy(lines, lines + count, &line(order, 0));
    return snprintf(answer, room, "order of %.16s: %lu lines, %lu\n", customer.name, count, total);
  }

  // P district customer-or-name by-name amount
  int payment(Numbers& numbers, char* answer, uint64_t room) {
    const uint64_t district = numbers.next();
    Customer& customer = customers_[customer_of(district, numbers)];
    const uint64_t amount = numbers.next();
    undo_.keep(customer.balance);
    undo_.keep(customer.paid);
    undo_.keep(customer.payments);
    customer.balance -= static_cast<int64_t>(amount);
    customer.paid += static_cast<int64_t>(amount);
    customer.payments++;
    payments_[payments_used_++] = {
        static_cast<uint64_t>(&customer - customers_), amount, payments_used_, {}};
    return snprintf(answer, room, "%.16s owes %ld\n", customer.name, customer.balance);
  }

  // By number, or the middle one of those of a name.
  uint64_t customer_of(uint64_t district, Numbers& numbers) {
    const uint64_t number = numbers.next();
    if (numbers.next() == 0) return customer_tree_.find(district_key(district, number));
    Tree::Place place = name_tree_.from(district_key(district, number * kCustomers));
    place.next();
    return place.value();
  }

  // S district customer-or-name by-name
  int status(Numbers& numbers, char* answer, uint64_t room) {
    const uint64_t district = numbers.next();
    const uint64_t customer = customer_of(district, numbers);
    const Order& order = orders_[last_order_[customer]];
    uint64_t total = 0;
    for (uint64_t i = 0; i < order.lines; i++) total += line(order, i).amount;
    return snprintf(answer, room, "%.16s: %lu lines, %lu\n", customers_[customer].name, order.lines,
                    total);
  }

  // D first-district: the oldest order of each district of a warehouse
  int delivery(Numbers& numbers, char* answer, uint64_t room) {
    const uint64_t first = numbers.next();
    uint64_t delivered = 0;
    for (uint64_t district = first; district < first + kDistricts; district++) {
      if (to_deliver_[district] >= next_order_[district]) continue;
      Order& order = orders_[order_tree_.find(district_key(district, to_deliver_[district]++))];
      undo_.keep(order.delivered);
      order.delivered = 1;
      int64_t total = 0;
      for (uint64_t i = 0; i < order.lines; i++) {
        total += static_cast<int64_t>(line(order, i).amount);
      }
      Customer& customer = customers_[customer_tree_.find(district_key(district, order.customer))];
      undo_.keep(customer.balance);
      customer.balance += total;
      customer.deliveries++;
      delivered++;
    }
    return snprintf(answer, room, "%lu delivered\n", delivered);
  }

  // L district least: items of the last 20 orders of which there is little left
  int stock_level(Numbers& numbers, char* answer, uint64_t room) {
    const uint64_t district = numbers.next();
    const uint64_t least = numbers.next();
    uint64_t low = 0;
    const uint64_t first = next_order_[district] - 20;
    for (Tree::Place place = order_tree_.from(district_key(district, first));
         place.there() && place.key() < district_key(district, next_order_[district]);
         place.next()) {
      const Order& order = orders_[place.value()];
      for (uint64_t i = 0; i < order.lines; i++) {
        const uint64_t key = district_key(district / kDistricts, line(order, i).item);
        low += stock_[stock_tree_.find(key)].quantity < least ? 1 : 0;
      }
    }
    return snprintf(answer, room, "%lu items are low\n", low);
  }

  uint64_t districts_, most_orders_;
  Stock* stock_;
  Customer* customers_;
  Item* items_;
  Order* orders_;
  Line* lines_;
  Payment* payments_;
  Tree stock_tree_, customer_tree_, name_tree_, item_tree_, order_tree_;
  std::vector<uint64_t> last_order_, next_order_, to_deliver_;
  uint64_t orders_used_ = 0, lines_used_ = 0, payments_used_ = 0;
  Log log_;
  Undo undo_;
};

// TPC-C's skewed number below `count`: `bits` or-ed with all numbers.
uint64_t skewed(Dice& dice, uint64_t bits, uint64_t count) {
  return ((dice.below(bits + 1) | dice.below(count)) + 42) % count;
}

size_t ask(Kind kind, Dice& dice, uint64_t districts, char* text, uint64_t room) {
  const uint64_t district = dice.below(districts);
  // Of six in ten payments and queries only the customer's name is known.
  const bool by_name = dice.below(10) < 6;
  const uint64_t customer =
      by_name && kind != kNewOrder ? skewed(dice, 255, kNames) : skewed(dice, 1023, kCustomers);
  int length = 0;
  switch (kind) {
    case kNewOrder: {
      const uint64_t lines = 5 + dice.below(kMostLines - 4);
      length = snprintf(text, room, "N %lu %lu %lu", district, customer, lines);
      const bool wrong = dice.below(100) == 0;
      for (uint64_t i = 0; i < lines; i++) {
        const uint64_t item = wrong && i + 1 == lines ? kNoItem : skewed(dice, 8191, kItems);
        length += snprintf(text + length, room - static_cast<uint64_t>(length), " %lu %lu", item,
                           1 + dice.below(10));
      }
      break;
    }
    case kPayment:
      length = snprintf(text, room, "P %lu %lu %d %lu", district, customer, by_name,
                        100 + dice.below(500000));
      break;
    case kStatus:
      length = snprintf(text, room, "S %lu %lu %d", district, customer, by_name);
      break;
    case kDelivery:
      length = snprintf(text, room, "D %lu", district / kDistricts * kDistricts);
      break;
    default:
      length = snprintf(text, room, "L %lu %lu", district, 10 + dice.below(11));
  }
  return static_cast<size_t>(length);
}

}  // namespace

int main(int count, char** words) {
  const Options asked = options(count, words, 4, 200'000);
  Store store(asked.size, asked.work + Connection::kTrain);
  Served served({"new order", "payment", "status", "delivery", "stock level"});
  Connection connection;
  Dice dice(2);
  uint64_t taken_back = 0;
  char request[512];
  char answer[256];
  const uint64_t began = now_ns();
  for (uint64_t train = 0; train < asked.work / Connection::kTrain; train++) {
    const auto kind = static_cast<Kind>(dice.pick(kMixInHundred, 100));
    connection.train(
        served.name(kind), served.of(kind),
        [&] {
          return std::string_view(
              request, ask(kind, dice, asked.size * kDistricts, request, sizeof request));
        },
        [&](std::string_view text) { return store.serve(text, answer, sizeof answer); },
        [&](std::string_view text) { taken_back += text.starts_with("taken") ? 1 : 0; });
  }
  served.report(static_cast<double>(now_ns() - began) / 1e9, asked.latencies);
  printf("%lu orders were taken back\n", taken_back);
  return 0;
}
