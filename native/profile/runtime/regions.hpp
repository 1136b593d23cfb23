// Large ranges of memory with their owners: mappings, large blocks, data segments, stacks.
#pragma once

#include <cstdint>

namespace nearfar::profile {

inline constexpr std::uint64_t no_position = UINT64_MAX;

struct Region {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint16_t site;
  bool counted;                          // whether its bytes are among the site's live bytes
  std::uint64_t position = no_position;  // of `begin` within the site's memory (ranges.hpp)
};

// Sorted and disjoint regions. A region's lines are tagged in the shadow when they are first
// touched, so a region of a terabyte costs as much as one of a page.
class Regions {
 public:
  static constexpr std::uint32_t capacity = 1u << 16;

  bool reserve();
  void unlock() { lock_ = 0; }

  // Adds a region to free addresses. Returns false if the table is full.
  bool insert(Region region);
  // Adds the parts of the range that are free.
  bool fill(Region region);
  // Returns the site at `address`; site_none if there is no region.
  std::uint16_t find(std::uint64_t address) const { return region_at(address).site; }
  // The same, if many addresses of a thread are in one region. The thread's cursor is zero at
  // first.
  struct Cursor {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint32_t version;
    std::uint16_t site;
  };
  std::uint16_t find(std::uint64_t address, Cursor& last) const {
    const std::uint32_t version = __atomic_load_n(&version_, __ATOMIC_ACQUIRE);
    const bool same = address - last.begin < last.end - last.begin && last.version == version;
    return same && version % 2 == 0 ? last.site : find_anew(address, version, last);
  }
  // Returns the region at `address`, or a region of site_none if there is none.
  Region region_at(std::uint64_t address) const;

  // Removes the range; calls `removed(part)` for each part that belonged to a region.
  template <typename F>
  void remove(std::uint64_t begin, std::uint64_t end, F removed) {
    Region part{};
    while (cut(begin, end, part)) removed(part);
  }

 private:
  class Change;

  std::uint16_t find_anew(std::uint64_t address, std::uint32_t version, Cursor& last) const;
  Region look_up(std::uint64_t address) const;
  std::uint32_t lower_bound(std::uint64_t address) const;  // first region that ends above it
  bool insert_at(std::uint32_t at, Region region);
  void erase(std::uint32_t at);
  // Removes the first part of the range that belongs to a region; returns false if there is none.
  bool cut(std::uint64_t begin, std::uint64_t end, Region& part);

  Region* regions_ = nullptr;
  std::uint32_t count_ = 0;
  mutable std::uint32_t lock_ = 0;
  // Odd while a thread changes the regions. Readers take no lock, and repeat the look-up under it
  // if this changed meanwhile.
  std::uint32_t version_ = 0;
};

}  // namespace nearfar::profile
