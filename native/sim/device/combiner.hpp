// What the medium has to write: blocks, once their last line is written or when they have to leave.
#pragma once

#include <cstdint>
#include <unordered_set>

namespace nearfar::sim {

// A block goes to the medium when its last line is written; one that leaves the buffer before
// costs the medium a whole block too. Their ratio to the lines written is the write amplification.
// (Waiting until every line was written would join halves written in different passes, of which the
// published curve shows nothing: tests/native/sim/device/write_amplification_test.cpp.)
class Combiner {
 public:
  explicit Combiner(unsigned block_log2) : last_line_((1U << (block_log2 - 6U)) - 1) {}

  [[gnu::noinline]] void write(std::uint32_t block, unsigned line_in_block) {
    if (line_in_block == last_line_) {
      unfinished_.erase(block);
      ++media_writes_;
    } else {
      unfinished_.insert(block);
    }
  }
  [[gnu::noinline]] void leaves(std::uint32_t block) { media_writes_ += unfinished_.erase(block); }
  [[nodiscard]] std::uint64_t media_writes() const { return media_writes_; }

 private:
  unsigned last_line_;
  std::unordered_set<std::uint32_t> unfinished_;
  std::uint64_t media_writes_ = 0;
};

}  // namespace nearfar::sim
