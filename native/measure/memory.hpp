// A stretch of the memory under test: mapped, placed, populated, and linked for chases.
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

// One order of links over the first lines of a memory: word `word` of each line visited holds the
// address of that word in the next.
struct LinkSet {
  Bytes region{};
  Shape shape{};
  Links kind = Links::none;
  unsigned word = 0;
  std::vector<std::uint32_t> order{};  // empty: line after line
  std::uint64_t visits = 0;
  std::uint64_t position = 0;  // where the next chase begins, so that it finds nothing cached
  std::uint64_t worth = 0;     // see Memory::link
};

// Several regions are prefixes of one memory. Each line has eight words, so seven orders and the
// sequence live in it together; which are kept is a matter of what it costs to make them anew.
class Memory {
 public:
  // `size` is rounded up to whole lines, what is mapped to whole pages. All pages are there when
  // it returns.
  static Memory anonymous(Bytes size, os::Pages pages, std::optional<unsigned> node);
  // The open file or device from `offset` on; `direct` as in os::map_file, and an error where the
  // file system cannot. `unit`: what is mapped is a multiple of it (2 MiB of most DAX devices).
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

  // Makes the first `region` bytes ready for chases of `kind` and `shape`, unless they are. The
  // first time takes about 5 ns a line, 50 ns where pages are 4 KiB; returns whether it did.
  bool link(Bytes region, const Shape& shape, Links kind, std::uint64_t seed = 1);
  // As linked; null if not, or no longer.
  [[nodiscard]] LinkSet* linked(Bytes region, const Shape& shape, Links kind);
  // A kernel stores to this memory: its links are gone.
  void overwritten() { sets_.clear(); }

  // Nodes of up to `samples` pages spread over the memory.
  [[nodiscard]] std::vector<int> nodes(std::size_t samples) const;

  // Where the next run without links starts, in iterations since the beginning; runs follow each
  // other so that none finds the lines of the one before in a cache. See Lane.
  std::uint64_t position = 0;
  std::uint64_t skipped = 0;

 private:
  Memory(std::byte* data, Bytes size, Bytes mapped) : data_(data), size_(size), mapped_(mapped) {}
  unsigned free_word();

  std::byte* data_;
  Bytes size_;
  Bytes mapped_;
  std::vector<LinkSet> sets_;
  std::uint64_t dropped_worth_ = 0;
};

}  // namespace nearfar::measure
