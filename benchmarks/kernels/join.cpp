// A join on strings: SIZE rows look up their customer's name in a hash table of SIZE/4 names.
#include <string>
#include <unordered_map>
#include <vector>

#include "kernel.h"

static std::string name_of(uint64_t number) {
  return "customer-with-a-long-name-" + std::to_string(kernel_mix(number));
}

static KEEP uint64_t join(const std::vector<std::string>& rows,
                          const std::unordered_map<std::string, uint64_t>& customers) {
  uint64_t sum = 0;
  for (const std::string& row : rows) {
    const auto found = customers.find(row);
    if (found != customers.end()) sum += found->second;
  }
  return sum;
}

int main(int count, char** words) {
  kernel kernel = kernel_arguments(count, words, 1 << 20, 1);
  const uint64_t names = kernel.size / 4 + 1;
  std::unordered_map<std::string, uint64_t> customers;
  for (uint64_t i = 0; i < names; i++) customers.emplace(name_of(i), i);
  std::vector<std::string> rows;
  rows.reserve(kernel.size);
  uint64_t expected = 0;
  for (uint64_t i = 0; i < kernel.size; i++) {
    const uint64_t customer = kernel_mix(i ^ 0x5A5A) % names;
    rows.push_back(name_of(customer));
    expected += customer;
  }
  uint64_t sum = 0;
  kernel_begin(&kernel);
  for (uint64_t r = 0; r < kernel.repetitions; r++) sum += join(rows, customers);
  kernel_end(&kernel, (double)(kernel.size * kernel.repetitions));
  return kernel_check(&kernel, sum, expected * kernel.repetitions);
}
