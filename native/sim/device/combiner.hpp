// Counts block writes of the medium: a block is written when its last line is, or when it is
// evicted.
//
// A block that is evicted before its last line was written costs the medium a whole write too. The
// ratio to the lines written is the write amplification. (Waiting for every line instead would
// merge halves written in different passes, which the published curve does not show:
// tests/native/sim/device/write_amplification_test.cpp.)
#pragma once

#include <cstdint>
#include <unordered_set>

namespace nearfar::sim {

// A block is written to the medium when its last line is written. A block that is evicted earlier
// costs the medium a whole block too. The ratio of these to the written lines is the write
// amplification. (Waiting until every line was written would merge halves written in different
// passes, which the published curve does not show:
// tests/native/sim/device/write_amplification_test.cpp.)
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
  [[gnu::noinline]] void evict(std::uint32_t block) { media_writes_ += unfinished_.erase(block); }
  [[nodiscard]] std::uint64_t media_writes() const { return media_writes_; }

 private:
  unsigned last_line_;
  std::unordered_set<std::uint32_t> unfinished_;
  std::uint64_t media_writes_ = 0;
};

}  // namespace nearfar::sim
