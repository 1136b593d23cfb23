// People that are looked up at random: age and balance are read, an address is seldom changed.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace town {

std::uint32_t people = 900000;

#ifdef SPLIT
struct Person {
  std::uint64_t age;
  double balance;
};
struct Rest {
#else
struct Person {
  std::uint64_t age;
  double balance;
#endif
  std::array<char, 112> address;
  std::uint64_t moves;
  std::uint64_t born;
};

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

class Town {
 public:
  Town() {
    all_.resize(people);
#ifdef SPLIT
    rest_.resize(people);
#endif
    for (std::uint32_t i = 0; i < people; ++i) {
      all_[i].age = mixed(i) % 90;
      all_[i].balance = static_cast<double>(mixed(i) % 5000);
      rest(i).born = 2000 - mixed(i) % 90;
    }
  }

  [[gnu::noinline]] double worth(std::uint64_t seed, std::uint32_t count) const {
    double sum = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const Person& person = all_[mixed(seed + i) % people];
      sum += static_cast<double>(person.age) * person.balance;
    }
    return sum;
  }

  [[gnu::noinline]] void move(std::uint32_t i) {
    ++rest(i).moves;
    rest(i).address[i % 112] = 'x';
  }

 private:
#ifdef SPLIT
  Rest& rest(std::uint32_t i) { return rest_[i]; }
  std::vector<Rest> rest_;
#else
  Person& rest(std::uint32_t i) { return all_[i]; }
#endif
  std::vector<Person> all_;
};

}  // namespace town

int main(int argc, char** argv) {
  if (argc > 1) town::people = static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10));
  town::Town town;
  double sum = 0;
  std::uint64_t state = 1;
  for (unsigned round = 0; round < 16; ++round) {
    sum += town.worth(round * 1000000007ull, town::people / 2);
    for (std::uint32_t i = 0; i < town::people / 40; ++i)
      town.move(static_cast<std::uint32_t>(town::mixed(++state) % town::people));
  }
  std::printf("%.0f\n", sum);
}
