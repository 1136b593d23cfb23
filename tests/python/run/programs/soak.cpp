// Threads that allocate, resize, exchange and free blocks by every function of malloc's family, and
// check each block's whole content before they change or free it.
//
//   soak SECONDS THREADS      prints the number of blocks that were checked; 1: a block was wrong
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace {

struct Block {
  unsigned char* begin = nullptr;
  std::size_t size = 0;
  unsigned char content = 0;
};

std::atomic<bool> wrong;
std::atomic<std::uint64_t> checked;
// Blocks that another thread frees.
std::mutex exchange_mutex;
std::vector<Block> exchange;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull | 1) {}
  std::uint64_t roll() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    return state_ ^= state_ << 17;
  }

 private:
  std::uint64_t state_;
};

// Mostly small, some of pages, a few of hundreds of KiB.
std::size_t pick_size(Dice& dice) {
  const std::uint64_t kind = dice.roll() % 100;
  const std::uint64_t most = kind < 80 ? 300 : kind < 97 ? 20000 : 600000;
  return 1 + dice.roll() % most;
}

[[gnu::noinline]] void* make_near(std::size_t size) { return malloc(size); }
[[gnu::noinline]] void* make_far(std::size_t size) { return malloc(size); }
[[gnu::noinline]] void* make_divided(std::size_t size) { return malloc(size); }
[[gnu::noinline]] void* make_cleared(std::size_t size) {
  auto* block = static_cast<unsigned char*>(calloc(1, size));
  if (block != nullptr && (block[0] != 0 || block[size / 2] != 0 || block[size - 1] != 0)) {
    wrong = true;
  }
  return block;
}
[[gnu::noinline]] void* make_aligned(std::size_t size, std::size_t alignment) {
  void* block = aligned_alloc(alignment, size);
  if (reinterpret_cast<std::uintptr_t>(block) % alignment != 0) wrong = true;
  return block;
}
[[gnu::noinline]] void* make_new(std::size_t size) { return ::operator new(size); }

bool is_right(const Block& block) {
  ++checked;
  for (std::size_t i = 0; i < block.size; ++i) {
    if (block.begin[i] != block.content) return false;
  }
  return true;
}

void fill(Block& block, Dice& dice) {
  block.content = static_cast<unsigned char>(dice.roll());
  memset(block.begin, block.content, block.size);
}

Block make(Dice& dice) {
  Block block;
  block.size = pick_size(dice);
  void* made = nullptr;
  switch (dice.roll() % 6) {
    case 0:
      made = make_near(block.size);
      break;
    case 1:
      made = make_far(block.size);
      break;
    case 2:
      made = make_divided(block.size);
      break;
    case 3:
      made = make_cleared(block.size);
      break;
    case 4:
      made = make_aligned(block.size, std::size_t{16} << dice.roll() % 9);
      break;
    // Freed by free, as libstdc++'s operator delete does.
    default:
      made = make_new(block.size);
      break;
  }
  if (made == nullptr) abort();
  block.begin = static_cast<unsigned char*>(made);
  fill(block, dice);
  return block;
}

void resize(Block& block, Dice& dice) {
  const std::size_t size = pick_size(dice);
  auto* moved = static_cast<unsigned char*>(realloc(block.begin, size));
  if (moved == nullptr) abort();
  Block kept{moved, size < block.size ? size : block.size, block.content};
  if (!is_right(kept)) wrong = true;
  block = {moved, size, 0};
  fill(block, dice);
}

void work(std::uint64_t seed, std::chrono::steady_clock::time_point end) {
  Dice dice(seed);
  std::vector<Block> blocks(400);
  for (std::uint64_t turn = 0; !wrong; ++turn) {
    if (turn % 1024 == 0 && std::chrono::steady_clock::now() > end) break;
    Block& block = blocks[dice.roll() % blocks.size()];
    if (block.begin != nullptr) {
      if (!is_right(block)) wrong = true;
      if (dice.roll() % 4 == 0) {
        resize(block, dice);
        continue;
      }
      if (dice.roll() % 4 == 0) {
        std::lock_guard<std::mutex> const lock(exchange_mutex);
        exchange.push_back(block);
        if (exchange.size() > 300) {
          block = exchange[dice.roll() % 200];
          for (Block& other : exchange) {
            if (other.begin == block.begin) {
              other = exchange.back();
              exchange.pop_back();
              break;
            }
          }
          continue;
        }
      } else {
        free(block.begin);
      }
    }
    block = make(dice);
  }
  for (const Block& block : blocks) {
    if (block.begin != nullptr && !is_right(block)) wrong = true;
    free(block.begin);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto seconds = std::chrono::seconds(argc > 1 ? atol(argv[1]) : 1);
  const unsigned count = argc > 2 ? static_cast<unsigned>(atol(argv[2])) : 8;
  const auto end = std::chrono::steady_clock::now() + seconds;
  // Threads end and begin: each leaves its caches to others.
  const auto generation = seconds / 4;
  for (unsigned part = 0; part < 4; ++part) {
    std::vector<std::thread> threads;
    const auto until = end - (3 - part) * generation;
    for (unsigned i = 0; i < count; ++i) threads.emplace_back(work, part * 100 + i + 1, until);
    for (std::thread& thread : threads) thread.join();
  }
  printf("%llu\n", static_cast<unsigned long long>(checked));
  return wrong ? 1 : 0;
}
