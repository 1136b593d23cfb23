// A transactional store in memory: orders, payments and queries over B+-trees, in kind those of
// TPC-C, one after the other as in a partition of VoltDB.
//
//   transactions [WAREHOUSES [TRANSACTIONS]] [--latencies FILE] [--huge-pages]
//
// Each comes as text through a socket, is parsed, keeps what it overwrites to undo it (one order
// in a hundred names no real item and is taken back), and is logged with a checksum, the log
// written to a file group by group. Rows and trees of each table are objects of their own.
#include <algorithm>

#include "transactions_log.hpp"
#include "transactions_tree.hpp"

namespace {

using namespace application;

constexpr uint64_t kItems = 100'000;
constexpr uint64_t kDistricts = 10;
constexpr uint64_t kCustomers = 3000;  // Of a district.
constexpr uint64_t kNames = 1000;
constexpr uint64_t kFirstOrders = 3000;  // Of a district.
constexpr uint64_t kMostLines = 15;
constexpr uint64_t kNoItem = kItems;

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
