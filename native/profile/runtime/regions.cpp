#include "profile/runtime/regions.hpp"

#include <string.h>

#include "profile/runtime/locks.hpp"
#include "profile/runtime/os.hpp"
#include "profile/runtime/process_file.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

namespace {

// Leaves out what lies before `begin`.
void skip(Region& region, std::uint64_t begin) {
  if (region.position != no_position) region.position += begin - region.begin;
  region.begin = begin;
}

}  // namespace

bool Regions::reserve() {
  regions_ = static_cast<Region*>(reserve_memory(capacity * sizeof(Region)));
  return regions_ != nullptr;
}

std::uint32_t Regions::lower_bound(std::uint64_t address) const {
  std::uint32_t low = 0;
  std::uint32_t high = count_;
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    if (regions_[middle].end > address) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

bool Regions::insert_at(std::uint32_t at, Region region) {
  if (count_ == capacity) return false;
  memmove(regions_ + at + 1, regions_ + at, (count_ - at) * sizeof(Region));
  regions_[at] = region;
  ++count_;
  return true;
}

void Regions::erase(std::uint32_t at) {
  --count_;
  memmove(regions_ + at, regions_ + at + 1, (count_ - at) * sizeof(Region));
}

bool Regions::cut(std::uint64_t begin, std::uint64_t end, Region& part) {
  Lock const lock(lock_, thread_id());
  const std::uint32_t at = lower_bound(begin);
  if (at == count_ || regions_[at].begin >= end) return false;
  Region& region = regions_[at];
  part = region;
  if (part.begin < begin) skip(part, begin);
  if (part.end > end) part.end = end;
  if (part.begin == region.begin && part.end == region.end) {
    erase(at);
  } else if (part.begin == region.begin) {
    skip(region, part.end);
  } else if (part.end == region.end) {
    region.end = part.begin;
  } else {
    Region rest = region;
    skip(rest, part.end);
    region.end = part.begin;
    insert_at(at + 1, rest);
  }
  return true;
}

bool Regions::insert(Region region) {
  Lock const lock(lock_, thread_id());
  return insert_at(lower_bound(region.begin), region);
}

bool Regions::fill(Region region) {
  Lock const lock(lock_, thread_id());
  while (region.begin < region.end) {
    const std::uint32_t at = lower_bound(region.begin);
    const std::uint64_t next = at < count_ ? regions_[at].begin : region.end;
    if (next > region.begin) {
      Region part = region;
      if (next < part.end) part.end = next;
      if (!insert_at(at, part)) return false;
      region.begin = part.end;
    } else {
      region.begin = regions_[at].end;
    }
  }
  return true;
}

Region Regions::region_at(std::uint64_t address) const {
  Lock const lock(lock_, thread_id());
  const std::uint32_t at = lower_bound(address);
  const bool inside = at < count_ && regions_[at].begin <= address;
  return inside ? regions_[at] : Region{address, address, site_none, false};
}

}  // namespace nearfar::profile
