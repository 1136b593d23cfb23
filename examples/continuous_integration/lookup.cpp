// What is watched: a table of orders, looked up at random through an index.
//
// Built with -DWIDE, an order holds what lookups do not need: the same lookups touch more lines.

#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

struct Order {
  std::uint64_t key;
  std::uint32_t price;
  std::uint32_t next;
#ifdef WIDE
  char note[48];
#endif
};

constexpr std::uint32_t kOrders = 1U << 18;
constexpr std::uint32_t kLookups = 1U << 20;

std::uint32_t mixed(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  return x;
}

std::vector<Order> make_orders() {
  std::vector<Order> orders(kOrders);
  for (std::uint32_t i = 0; i < kOrders; ++i) {
    orders[i].key = i;
    orders[i].price = mixed(i);
    orders[i].next = mixed(i + 1) % kOrders;
  }
  return orders;
}

std::vector<std::uint32_t> make_index() {
  std::vector<std::uint32_t> index(kOrders);
  for (std::uint32_t i = 0; i < kOrders; ++i) index[i] = mixed(i * 3) % kOrders;
  return index;
}

}  // namespace

int main() {
  const std::vector<Order> orders = make_orders();
  const std::vector<std::uint32_t> index = make_index();
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < kLookups; ++i) {
    const Order& first = orders[index[mixed(i) % kOrders]];
    total += first.price + orders[first.next].price;
  }
  std::printf("%llu\n", static_cast<unsigned long long>(total));
}
