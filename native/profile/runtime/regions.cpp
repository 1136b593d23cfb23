#include "profile/runtime/regions.hpp"

#include <string.h>

#include "base/keep_order.hpp"
#include "profile/runtime/locks.hpp"
#include "profile/runtime/os.hpp"
#include "profile/runtime/process_file.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

namespace {

// Removes the part below `begin`.
void skip(Region& region, std::uint64_t begin) {
  if (region.position != no_position) region.position += begin - region.begin;
  region.begin = begin;
}

}  // namespace

// Holds the lock and makes the version odd. If a signal handler jumps away, the version stays odd,
// and readers take the lock until the next change.
class Regions::Change {
 public:
  explicit Change(Regions& regions) : regions_(regions), lock_(regions.lock_, thread_id()) {
    __atomic_store_n(&regions_.version_, regions_.version_ | 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
  }
  ~Change() { __atomic_store_n(&regions_.version_, regions_.version_ + 1, __ATOMIC_RELEASE); }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  Regions& regions_;
  Lock lock_;
};

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
  Change const change(*this);
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
  Change const change(*this);
  return insert_at(lower_bound(region.begin), region);
}

bool Regions::fill(Region region) {
  Change const change(*this);
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

Region Regions::look_up(std::uint64_t address) const {
  const std::uint32_t at = lower_bound(address);
  const bool inside = at < count_ && regions_[at].begin <= address;
  return inside ? regions_[at] : Region{address, address, site_none, false};
}

std::uint16_t Regions::find_anew(std::uint64_t address, std::uint32_t version, Cursor& last) const {
  const Region region = region_at(address);
  // A signal handler that jumps away leaves an odd version, which is never used, or a complete
  // cursor. Nor is the cursor used if the regions have changed since `version` was read.
  last.version = 1;
  keep_order();
  last.begin = region.begin;
  last.end = region.end;
  last.site = region.site;
  keep_order();
  last.version = version;
  return region.site;
}

Region Regions::region_at(std::uint64_t address) const {
  const std::uint32_t before = __atomic_load_n(&version_, __ATOMIC_ACQUIRE);
  if (before % 2 == 0) {
    const Region region = look_up(address);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&version_, __ATOMIC_RELAXED) == before) return region;
  }
  Lock const lock(lock_, thread_id());
  return look_up(address);
}

}  // namespace nearfar::profile
