// nearfar_block_cost ROUNDS: times pairs of malloc and free of small blocks, in two functions whose
// blocks a plan may place near and far, and prints ns per pair for each. The cost of `nearfar run`
// is the difference to the same times without its library.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

extern "C" {
// Each function writes to its block, so that malloc is not a tail call and the function is on the
// call stack.
[[gnu::noinline, gnu::visibility("default")]] char* nearfar_near_block(std::size_t size) {
  auto* block = static_cast<char*>(malloc(size));
  if (block != nullptr) *static_cast<volatile char*>(block) = 1;
  return block;
}
[[gnu::noinline, gnu::visibility("default")]] char* nearfar_far_block(std::size_t size) {
  auto* block = static_cast<char*>(malloc(size));
  if (block != nullptr) *static_cast<volatile char*>(block) = 2;
  return block;
}
}

namespace {

constexpr std::size_t blocks = 64;
constexpr int tries = 7;

// Returns ns per pair in the fastest of several attempts.
double pair_ns(char* (*make)(std::size_t), long rounds) {
  double best = 1e18;
  for (int attempt = 0; attempt < tries; ++attempt) {
    const auto begin = std::chrono::steady_clock::now();
    for (long round = 0; round < rounds; ++round) {
      char* made[blocks];
      // Sizes of 16 to 215 bytes, in no order.
      for (std::size_t i = 0; i < blocks; ++i) made[i] = make(16 + i * 29 % 200);
      for (char* block : made) free(block);
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count() / static_cast<double>(rounds * static_cast<long>(blocks)));
  }
  return best;
}

}  // namespace

int main(int count, char** words) {
  const long rounds = count > 1 ? strtol(words[1], nullptr, 10) : 0;
  if (rounds <= 0) return 0;
  printf("%.3f %.3f\n", pair_ns(nearfar_near_block, rounds), pair_ns(nearfar_far_block, rounds));
  return 0;
}
