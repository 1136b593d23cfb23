// Exceptions through instrumented frames, out of loops, with destructors and rethrows.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

static int alive = 0;
struct Counted {
  std::vector<int> values = std::vector<int>(100, 1);
  Counted() { ++alive; }
  ~Counted() { --alive; }
};

static int walk(const std::vector<int>& values, int limit) {
  Counted counted;
  int sum = 0;
  for (std::size_t i = 0;; ++i) {
    sum += values.at(i) + counted.values[i % 100];
    if (sum > limit) throw std::runtime_error(std::to_string(sum));
  }
}

static int try_walk(const std::vector<int>& values, int limit) {
  try {
    return walk(values, limit);
  } catch (const std::runtime_error& error) {
    return std::stoi(error.what());
  } catch (...) {
    Counted counted;
    throw;
  }
}

int main() {
  const std::vector<int> values(1000, 3);
  long sum = 0;
  for (int limit = 0; limit < 5000; limit += 7) {
    try {
      sum += try_walk(values, limit);
    } catch (const std::out_of_range&) {
      sum += 1;
    }
  }
  std::printf("%ld %d\n", sum, alive);
}
