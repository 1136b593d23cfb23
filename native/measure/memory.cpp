#include "measure/memory.hpp"

#include <algorithm>
#include <utility>

#include "measure/cycle.hpp"

namespace nearfar::measure {
namespace {

Bytes rounded_up(Bytes size, Bytes unit) {
  return {(size.count + unit.count - 1) / unit.count * unit.count};
}

}  // namespace

Memory Memory::anonymous(Bytes size, os::Pages pages, std::optional<unsigned> node) {
  const Bytes whole = rounded_up(size, pages == os::Pages::base ? os::base_page : os::huge_page);
  Memory memory(os::map_anonymous(whole, pages), rounded_up(size, cache_line), whole);
  if (node) os::bind_to_node(memory.data_, whole, *node);
  os::populate(memory.data_, whole);
  return memory;
}

Memory Memory::file(int descriptor, Bytes size, bool direct) {
  const Bytes whole = rounded_up(size, os::base_page);
  std::byte* data = os::map_file(descriptor, whole, direct);
  if (data == nullptr) os::fail(EOPNOTSUPP, "map the file without a page cache");
  Memory memory(data, rounded_up(size, cache_line), whole);
  os::populate(memory.data_, whole);
  return memory;
}

Memory::Memory(Memory&& other) noexcept
    : position(other.position),
      data_(std::exchange(other.data_, nullptr)),
      size_(other.size_),
      mapped_(other.mapped_),
      order_(std::move(other.order_)) {}

Memory::~Memory() { os::unmap(data_, mapped_); }

void Memory::link(std::uint64_t block_lines, std::uint64_t seed) {
  order_ = random_order(lines(), block_lines, seed);
  auto line = [this](std::uint64_t i) { return data_ + i * cache_line.count; };
  auto word = [&](std::uint64_t i, LinkWord which) {
    return reinterpret_cast<std::byte**>(line(i)) + which;
  };
  const std::uint64_t count = lines();
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t following = i + 1 == count ? 0 : i + 1;
    *word(order_[i], random_link) = line(order_[following]);
    *word(i, sequential_link) = line(following);
  }
  position = 0;
}

std::vector<int> Memory::nodes(std::size_t samples) const {
  const std::uint64_t pages = size_ / os::base_page;
  const std::uint64_t count = std::min<std::uint64_t>(samples, pages);
  std::vector<std::byte*> addresses(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    addresses[i] = data_ + i * pages / count * os::base_page.count;
  }
  return os::nodes_of(addresses);
}

}  // namespace nearfar::measure
