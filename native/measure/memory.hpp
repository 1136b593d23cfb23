// Memory under test: mapped, placed, populated, and linked for chases.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/os.hpp"
#include "base/units.hpp"
#include "measure/kernel.hpp"

namespace nearfar::measure {

// An order of links over the first lines of a memory: word `word` of each line points at that word
// of the next line.
struct LinkSet {
  Bytes region{};
  Shape shape{};
  Links kind = Links::none;
  unsigned word = 0;
  std::vector<std::uint32_t> order{};  // empty: sequential
  std::uint64_t visits = 0;
  std::uint64_t position = 0;  // start of the next chase, so that it finds nothing cached
  std::uint64_t worth = 0;     // cost of rebuilding it, see free_word
};

// Several regions are prefixes of one memory. Each line has eight words: seven for random orders of
// links and one for the sequential order, which serves one region at a time. The orders that are
// cheapest to rebuild are dropped first.
class Memory {
 public:
  // `size` is rounded up to whole lines, the mapping to whole pages. All pages are allocated.
  static Memory anonymous(Bytes size, os::Pages pages, std::optional<unsigned> node);
  // Maps an open file or device from `offset` on. `direct` has the meaning of os::map_file, but
  // throws if the file system does not support it. The mapping is a multiple of `unit` (2 MiB for
  // most DAX devices).
  static Memory file(int descriptor, Bytes size, bool direct, Bytes offset = {},
                     Bytes unit = os::base_page);

  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&&) = delete;
  ~Memory();

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] Bytes size() const { return size_; }
  [[nodiscard]] std::uint64_t lines() const { return size_ / cache_line; }

  // Links the first `region` bytes for chases of `kind` and `shape`, unless they are linked. It
  // takes about 5 ns per line, 50 ns with 4 KiB pages. Returns whether it linked them.
  bool link(Bytes region, const Shape& shape, Links kind, std::uint64_t seed = 1);
  // Returns the links, or null if there are none.
  [[nodiscard]] LinkSet* linked(Bytes region, const Shape& shape, Links kind);
  // Must be called when a kernel stores to this memory.
  void forget_links() {
    sets_.clear();
    chained_ = chain_end_ = 0;
  }

  // Replaces words of zero in the first `region` bytes, once. A file keeps its content.
  void fill(Bytes region);

  // Returns the nodes of up to `samples` pages spread over the memory.
  [[nodiscard]] std::vector<int> nodes(std::size_t samples) const;

  // Start of the next run without links, in iterations, so that a run finds no lines in the caches
  // that the previous run left there. See Lane.
  std::uint64_t position = 0;
  std::uint64_t skipped = 0;

 private:
  Memory(std::byte* data, Bytes size, Bytes mapped) : data_(data), size_(size), mapped_(mapped) {}
  unsigned free_word();

  std::byte* data_;
  Bytes size_;
  Bytes mapped_;
  Bytes filled_{};
  std::vector<LinkSet> sets_;
  std::uint64_t dropped_worth_ = 0;
  std::uint64_t chained_ = 0;    // the sequential order links so many lines, from the first on
  std::uint64_t chain_end_ = 0;  // the line before it links back to the first; 0: none does
};

}  // namespace nearfar::measure
