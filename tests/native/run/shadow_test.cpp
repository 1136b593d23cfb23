#include "run/shadow.cpp"

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <cmath>
#include <initializer_list>

namespace nearfar::run {

nf_run_state state;
std::uint64_t near_end() { return first_address + (1ull << 30); }
bool back_with_memory(std::uint64_t begin, std::uint64_t bytes) {
  return mprotect(reinterpret_cast<void*>(begin), bytes, PROT_READ | PROT_WRITE) == 0;
}

namespace {

// The bytes that the pages of a block represent, as in nearfar/run/snapshot.py.
std::uint64_t represented(std::uint64_t block, std::size_t size) {
  std::uint64_t bytes = 0;
  for (std::uint64_t page = block / page_bytes; page * page_bytes < block + size; ++page) {
    const std::uint32_t word = *entry_of(page);
    if ((word & object_mask) == 0) continue;
    bytes += (word & NF_RUN_CHOSEN) != 0 ? NF_RUN_CHOSEN_BYTES : group_bytes;
  }
  return bytes;
}

}  // namespace

TEST_CASE("chosen blocks represent their size divided by the probability of being chosen") {
  REQUIRE(map_shadow());
  for (const std::size_t size :
       {4096u, 40u << 10, 128u << 10, 224u << 10, 448u << 10, 512u << 10}) {
    constexpr unsigned blocks = 1500;
    std::uint64_t total = 0;
    for (unsigned i = 0; i < blocks; ++i) {
      const std::uint64_t block = first_address + i * (600u << 10);
      record_lone_sample(reinterpret_cast<void*>(block), size, 7);
      CHECK(represented(block, size) == represented(block, 600u << 10));
      total += represented(block, size);
    }
    CHECK(state.sampled_pages * group_bytes == total);
    const double probability = 1 - std::exp(-static_cast<double>(size) / NF_RUN_CHOSEN_BYTES);
    const double mean = static_cast<double>(total) / blocks;
    CAPTURE(size);
    CHECK(mean == doctest::Approx(static_cast<double>(size) / probability).epsilon(0.01));
    for (unsigned i = 0; i < blocks; ++i) {
      const std::uint64_t block = first_address + i * (600u << 10);
      forget_block(reinterpret_cast<void*>(block), size);
      CHECK(represented(block, size) == 0);
    }
    CHECK(state.sampled_pages == 0);
  }
}

}  // namespace nearfar::run
