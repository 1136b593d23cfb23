// What the medium has to write: blocks, once they are whole or have to leave.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace nearfar::sim {

// A block whose lines have all been written goes to the medium at once; one that leaves the
// buffer unfinished costs the medium a whole block too. Their ratio to the lines written is the
// write amplification.
class Combiner {
 public:
  explicit Combiner(unsigned block_log2)
      : whole_(block_log2 >= 12 ? ~std::uint64_t{0}
                                : (std::uint64_t{1} << (1U << (block_log2 - 6U))) - 1) {}

  [[gnu::noinline]] void write(std::uint32_t block, unsigned line_in_block) {
    std::uint64_t& written = unfinished_[block];
    written |= std::uint64_t{1} << (line_in_block & 63U);
    if (written != whole_) return;
    unfinished_.erase(block);
    ++media_writes_;
  }
  [[gnu::noinline]] void leaves(std::uint32_t block) { media_writes_ += unfinished_.erase(block); }
  [[nodiscard]] std::uint64_t media_writes() const { return media_writes_; }

 private:
  std::uint64_t whole_;
  std::unordered_map<std::uint32_t, std::uint64_t> unfinished_;
  std::uint64_t media_writes_ = 0;
};

}  // namespace nearfar::sim
