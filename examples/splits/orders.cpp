// Orders that are summed up again and again, and changed at random places.
//
// With -DSPLIT what is read often is in a vector of their own, as nearfar proposes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace shop {

std::uint32_t orders = 200000;
constexpr unsigned rounds = 12;

#ifdef SPLIT
struct Order {
  double price;
  std::uint64_t quantity;
  std::uint64_t customer;
};
struct Rest {
#else
struct Order {
  double price;
  std::uint64_t quantity;
  std::uint64_t customer;
#endif
  char address[80];
  std::uint64_t changes;
};

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

class Shop {
 public:
  Shop() {
    all_.resize(orders);
#ifdef SPLIT
    rest_.resize(orders);
#endif
    for (std::uint32_t i = 0; i < orders; ++i) {
      all_[i].price = static_cast<double>(mixed(i) % 1000);
      all_[i].quantity = mixed(i) % 7;
      all_[i].customer = mixed(i) % 1000;
    }
  }

  [[gnu::noinline]] double turnover() const {
    double sum = 0;
    for (const Order& order : all_) sum += order.price * static_cast<double>(order.quantity);
    return sum;
  }

  [[gnu::noinline]] void change(std::uint32_t i) {
    ++all_[i].quantity;
    rest(i).changes += all_[i].customer;
  }

 private:
#ifdef SPLIT
  Rest& rest(std::uint32_t i) { return rest_[i]; }
  std::vector<Rest> rest_;
#else
  Order& rest(std::uint32_t i) { return all_[i]; }
#endif
  std::vector<Order> all_;
};

}  // namespace shop

int main(int argc, char** argv) {
  if (argc > 1) shop::orders = static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10));
  shop::Shop shop;
  double sum = 0;
  std::uint64_t state = 1;
  for (unsigned round = 0; round < shop::rounds; ++round) {
    sum += shop.turnover();
    for (std::uint32_t i = 0; i < shop::orders / 20; ++i)
      shop.change(static_cast<std::uint32_t>(shop::mixed(++state) % shop::orders));
  }
  std::printf("%.0f\n", sum);
}
