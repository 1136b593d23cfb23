#include "profile/runtime/regions.hpp"

#include <string.h>

#include "profile/runtime/locks.hpp"
#include "profile/runtime/os.hpp"
#include "profile/runtime/process_file.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

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
  if (part.begin < begin) part.begin = begin;
  if (part.end > end) part.end = end;
  if (part.begin == region.begin && part.end == region.end) {
    erase(at);
  } else if (part.begin == region.begin) {
    region.begin = part.end;
  } else if (part.end == region.end) {
    region.end = part.begin;
  } else {
    const Region rest{part.end, region.end, region.site, region.counted};
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

std::uint16_t Regions::find(std::uint64_t address) const {
  Lock const lock(lock_, thread_id());
  const std::uint32_t at = lower_bound(address);
  const bool inside = at < count_ && regions_[at].begin <= address;
  return inside ? regions_[at].site : std::uint16_t{site_none};
}

}  // namespace nearfar::profile
