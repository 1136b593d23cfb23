#include "measure/memory.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "measure/cycle.hpp"

namespace nearfar::measure {
namespace {

// Words of a line that hold links; the last one is for the sequential order.
constexpr unsigned order_words = 7;
constexpr unsigned sequence_word = 7;

Bytes rounded_up(Bytes size, Bytes unit) {
  return {(size.count + unit.count - 1) / unit.count * unit.count};
}

Bytes unit_of(os::Pages pages) {
  if (pages == os::Pages::base) return os::base_page;
  return pages == os::Pages::reserved_giant ? os::giant_page : os::huge_page;
}

// Keeps only the fields of a shape that determine an order of links.
Shape order_shape(const Shape& shape) {
  return {.access = shape.access, .stride = shape.stride, .window = shape.window};
}

bool is_sequence(const Shape& shape, Links kind) {
  return kind == Links::sequential && shape.stride_lines() == shape.access_lines();
}

}  // namespace

Memory Memory::anonymous(Bytes size, os::Pages pages, std::optional<unsigned> node) {
  const Bytes whole = rounded_up(size, unit_of(pages));
  Memory memory(os::map_anonymous(whole, pages), rounded_up(size, cache_line), whole);
  if (node) os::bind_to_node(memory.data_, whole, *node);
  os::populate(memory.data_, whole);
  return memory;
}

Memory Memory::file(int descriptor, Bytes size, bool direct, Bytes offset, Bytes unit) {
  const Bytes whole = rounded_up(size, unit);
  std::byte* data = os::map_file(descriptor, whole, direct, offset);
  if (data == nullptr) os::fail(EOPNOTSUPP, "map the file without a page cache");
  Memory memory(data, rounded_up(size, cache_line), whole);
  memory.filled_ = memory.size_;
  os::populate(memory.data_, whole);
  return memory;
}

Memory::Memory(Memory&& other) noexcept
    : position(other.position),
      skipped(other.skipped),
      data_(std::exchange(other.data_, nullptr)),
      size_(other.size_),
      mapped_(other.mapped_),
      filled_(other.filled_),
      sets_(std::move(other.sets_)),
      dropped_worth_(other.dropped_worth_),
      chained_(other.chained_),
      chain_end_(other.chain_end_) {}

Memory::~Memory() { os::unmap(data_, mapped_); }

LinkSet* Memory::linked(Bytes region, const Shape& shape, Links kind) {
  const bool in_sequence = is_sequence(shape, kind);
  if (in_sequence && region / cache_line != chain_end_) return nullptr;
  const Shape wanted = in_sequence ? Shape{} : order_shape(shape);
  const auto match = std::ranges::find_if(sets_, [&](const LinkSet& set) {
    return set.region == region && set.kind == kind && set.shape == wanted;
  });
  return match == sets_.end() ? nullptr : &*match;
}

// Frees the word of the set of links that is cheapest to rebuild. The worth of a set is its visits
// plus the worth of the last dropped set, so that large unused sets are dropped too (GreedyDual;
// Young, "The k-server dual and loose competitiveness for paging", 1994).
unsigned Memory::free_word() {
  const auto is_order = [](const LinkSet& set) { return set.word != sequence_word; };
  if (std::ranges::count_if(sets_, is_order) >= order_words) {
    auto cheapest = sets_.end();
    for (auto set = sets_.begin(); set != sets_.end(); ++set) {
      if (is_order(*set) && (cheapest == sets_.end() || set->worth < cheapest->worth))
        cheapest = set;
    }
    dropped_worth_ = cheapest->worth;
    const unsigned word = cheapest->word;
    sets_.erase(cheapest);
    return word;
  }
  unsigned word = 0;
  while (std::ranges::any_of(sets_, [&](const LinkSet& set) { return set.word == word; })) ++word;
  return word;
}

bool Memory::link(Bytes region, const Shape& shape, Links kind, std::uint64_t seed) {
  check(shape);
  if (kind == Links::none) throw std::invalid_argument("links must be random or sequential");
  if (region > size_ || region < shape.access) {
    throw std::invalid_argument("the region exceeds the memory or is smaller than one access");
  }
  if (LinkSet* set = linked(region, shape, kind)) {
    set->worth = dropped_worth_ + set->visits;
    return false;
  }
  const std::uint64_t count = region / cache_line;
  auto word_of = [&](std::uint64_t line, unsigned word) {
    return reinterpret_cast<std::byte**>(data_ + line * cache_line.count) + word;
  };
  auto set_link = [&](std::uint64_t line, std::uint64_t next, unsigned word) {
    *word_of(line, word) = reinterpret_cast<std::byte*>(word_of(next, word));
  };
  if (is_sequence(shape, kind)) {
    // Sequential orders of all regions share their links, except the link from the last line back
    // to the first.
    if (chain_end_ != 0 && chain_end_ < chained_)
      set_link(chain_end_ - 1, chain_end_, sequence_word);
    for (std::uint64_t i = std::max<std::uint64_t>(chained_, 1); i < count; ++i)
      set_link(i - 1, i, sequence_word);
    set_link(count - 1, 0, sequence_word);
    chained_ = std::max(chained_, count);
    chain_end_ = count;
    if (linked(region, shape, kind) != nullptr) return true;  // with its position
    LinkSet set{region, {}, kind, sequence_word};
    set.visits = count;
    sets_.push_back(std::move(set));
    return true;
  }
  LinkSet set{region, order_shape(shape), kind};
  set.order = chase_order(count, shape, kind == Links::random, seed);
  set.visits = set.order.size();
  set.word = free_word();
  set.worth = dropped_worth_ + set.visits;
  // Writes in address order: only the table is accessed at random.
  std::vector<std::uint32_t> next(count, 0);
  std::vector<bool> visited(count, false);
  for (std::uint64_t i = 0; i < set.visits; ++i) {
    next[set.order[i]] = set.order[i + 1 == set.visits ? 0 : i + 1];
    visited[set.order[i]] = true;
  }
  for (std::uint64_t line = 0; line < count; ++line) {
    if (visited[line]) set_link(line, next[line], set.word);
  }
  sets_.push_back(std::move(set));
  return true;
}

void Memory::fill(Bytes region) {
  constexpr std::uint64_t value = 0x9E3779B97F4A7C15;
  auto* words = reinterpret_cast<std::uint64_t*>(data_);
  for (std::uint64_t i = filled_.count / sizeof value; i < region.count / sizeof value; ++i) {
    if (words[i] == 0) words[i] = value;
  }
  filled_ = std::max(filled_, region);
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
