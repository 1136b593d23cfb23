// A stretch of the memory under test: mapped, placed, populated, and linked for chases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/os.hpp"
#include "base/units.hpp"

namespace nearfar::measure {

// What the first words of a line hold once the memory is linked.
enum LinkWord : std::uint8_t {
  random_link = 0,      // address of the next line in random order
  sequential_link = 1,  // address of the next line
};

class Memory {
 public:
  // `size` is rounded up to whole lines, what is mapped to whole pages. All pages are there when
  // it returns.
  static Memory anonymous(Bytes size, os::Pages pages, std::optional<unsigned> node);
  // The open file, which must be at least `size` long; `direct` as in os::map_file, and an error
  // where the file system cannot.
  static Memory file(int descriptor, Bytes size, bool direct);

  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&&) = delete;
  ~Memory();

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] Bytes size() const { return size_; }
  [[nodiscard]] std::uint64_t lines() const { return size_ / cache_line; }

  // Writes both links into every line; blocks as in random_order.
  void link(std::uint64_t block_lines, std::uint64_t seed);
  // Line numbers in random order; empty before link().
  [[nodiscard]] const std::vector<std::uint32_t>& order() const { return order_; }

  // Nodes of up to `samples` pages spread over the memory.
  [[nodiscard]] std::vector<int> nodes(std::size_t samples) const;

  // Where the next run starts, in accesses since the beginning; runs follow each other so that
  // none finds the lines of the one before in a cache.
  std::uint64_t position = 0;

 private:
  Memory(std::byte* data, Bytes size, Bytes mapped) : data_(data), size_(size), mapped_(mapped) {}

  std::byte* data_;
  Bytes size_;
  Bytes mapped_;
  std::vector<std::uint32_t> order_;
};

}  // namespace nearfar::measure
