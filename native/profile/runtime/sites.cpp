#include "profile/runtime/sites.hpp"

#include <sys/single_threaded.h>

#include "profile/runtime/live.hpp"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
  return hash ^ hash >> 29;
}

// Recursion makes call stacks without number; as the table fills, fewer frames tell sites apart.
unsigned frames_that_matter() {
  const Table& table = runtime.header->sites;
  if (table.used < table.capacity / 2) return max_frames;
  return table.used < table.capacity / 4 * 3 ? 4 : 2;
}

std::uint16_t add_site(std::uint64_t key, ObjectKind kind, const std::uint64_t* frames,
                       unsigned depth, const char* path) {
  SiteRecord* record = runtime.sites.find(key);
  if (record == nullptr) {
    const std::uint32_t text = runtime.strings.intern(path);
    record = runtime.sites.find_or_add(key, thread_id(), [&](SiteRecord& fresh) {
      fresh.kind = kind;
      fresh.depth = depth;
      for (unsigned i = 0; i < depth; ++i) fresh.frames[i] = frames[i];
      fresh.path = text;
    });
  }
  if (record == nullptr) return site_other;
  return static_cast<std::uint16_t>(runtime.sites.place_of(*record));
}

std::uint64_t hash_of(const char* path) {
  std::uint64_t hash = 0;
  for (; path != nullptr && *path != '\0'; ++path)
    hash = mix(hash, static_cast<unsigned char>(*path));
  return hash;
}

void move_live(std::uint16_t site, std::int64_t bytes) {
  SiteRecord& record = runtime.sites[site];
  const std::int64_t live = __atomic_add_fetch(&record.live_bytes, bytes, __ATOMIC_RELAXED);
  if (live > record.peak_bytes) record.peak_bytes = live;
  const std::int64_t total =
      __atomic_add_fetch(&runtime.header->live_bytes, bytes, __ATOMIC_RELAXED);
  note_live_total(total);
}

}  // namespace

std::uint16_t site_of_call(ObjectKind kind, Call call, const char* path) {
  std::uint64_t frames[max_frames];
  const unsigned depth = walk_stack(call, frames, frames_that_matter());
  std::uint64_t key = mix(hash_of(path), static_cast<std::uint64_t>(kind));
  unsigned kept = 0;
  for (unsigned i = 0; i < depth; ++i) {
    // Direct recursion is one frame.
    if (kept > 0 && frames[kept - 1] == frames[i]) continue;
    frames[kept++] = frames[i];
    key = mix(key, frames[i]);
  }
  return add_site(key, kind, frames, kept, path);
}

std::uint16_t site_of_path(ObjectKind kind, const char* path) {
  return add_site(mix(hash_of(path), static_cast<std::uint64_t>(kind)), kind, nullptr, 0, path);
}

Weight weight_of(std::uint64_t begin, std::uint64_t size) {
  const sim::SampledLines& lines = runtime.lines;
  const bool surely_sampled = lines.rate_log2() <= 6 && size >= 8192;
  if (surely_sampled || size >= large_block) return {1, size};
  std::uint64_t bytes = 0;
  lines.for_each(begin, size, [&](std::uint64_t line) {
    const std::uint64_t from = line > begin ? line : begin;
    const std::uint64_t to = line + 64 < begin + size ? line + 64 : begin + size;
    bytes += to - from;
  });
  const bool first = lines.sampled(begin);
  return {first ? lines.rate() : 0, bytes * lines.rate()};
}

void count_allocated(std::uint16_t site, Weight weight) {
  SiteRecord& record = runtime.sites[site];
  __atomic_fetch_add(&record.allocations, weight.allocations, __ATOMIC_RELAXED);
  __atomic_fetch_add(&record.allocated_bytes, weight.bytes, __ATOMIC_RELAXED);
  move_live(site, static_cast<std::int64_t>(weight.bytes));
}

void count_freed(std::uint16_t site, std::uint64_t bytes) {
  move_live(site, -static_cast<std::int64_t>(bytes));
}

}  // namespace nearfar::profile
