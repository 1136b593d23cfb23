#include "profile/runtime/sites.hpp"

#include "profile/runtime/live.hpp"
#include "profile/runtime/locks.hpp"
#include "profile/runtime/recent_call.hpp"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
  return hash ^ hash >> 29;
}

// Recursion creates countless call stacks. So the fuller the table is, the fewer frames distinguish
// sites.
unsigned significant_frames() {
  const Table& table = runtime.header->sites;
  if (table.used < table.capacity / 2) return max_frames;
  return table.used < table.capacity / 4 * 3 ? 4 : 2;
}

std::uint16_t add_site(std::uint64_t key, ObjectKind kind, const std::uint64_t* frames,
                       unsigned depth, const char* path) {
  SiteRecord* record = runtime.sites.find(key);
  if (record == nullptr) {
    const std::uint32_t text = runtime.strings.intern(path);
    record = runtime.sites.find_or_add(key, thread_id(), [&](SiteRecord& record_to_fill) {
      record_to_fill.kind = kind;
      record_to_fill.depth = depth;
      for (unsigned i = 0; i < depth; ++i) record_to_fill.frames[i] = frames[i];
      record_to_fill.path = text;
    });
  }
  if (record == nullptr) return site_other;
  return static_cast<std::uint16_t>(runtime.sites.index_of(*record));
}

std::uint64_t hash_of(const char* path) {
  std::uint64_t hash = 0;
  for (; path != nullptr && *path != '\0'; ++path)
    hash = mix(hash, static_cast<unsigned char>(*path));
  return hash;
}

// Number of bits of a size: blocks of a class differ by less than a factor of two.
std::uint32_t size_class_of(std::uint64_t size) {
  return size == 0 ? 0 : 64 - static_cast<std::uint32_t>(__builtin_clzll(size));
}

// For each part, the whole site that it belongs to; 0: it is a whole.
std::uint16_t wholes[1u << 16];

// Returns the part of a site that contains blocks of one size class or of one tag.
std::uint16_t part_of(std::uint16_t site, std::uint32_t size_class, std::uint32_t tag) {
  if ((size_class == 0 && tag == 0) || site < first_free_site) return site;
  const SiteRecord& whole = runtime.sites[site];
  const std::uint64_t part = std::uint64_t{tag} << 32 | size_class;
  const std::uint64_t key = mix(mix(whole.key, whole.depth), part);
  const SiteRecord* record =
      runtime.sites.find_or_add(key, thread_id(), [&](SiteRecord& record_to_fill) {
        record_to_fill.kind = whole.kind;
        record_to_fill.depth = whole.depth;
        for (unsigned i = 0; i < whole.depth; ++i) record_to_fill.frames[i] = whole.frames[i];
        record_to_fill.path = whole.path;
        record_to_fill.size_class = size_class;
        record_to_fill.tag = tag;
      });
  if (record == nullptr) return site_other;
  const auto part_site = static_cast<std::uint16_t>(runtime.sites.index_of(*record));
  wholes[part_site] = site;
  return part_site;
}

std::uint16_t whole_site_of_block(Call call) {
  if (const std::uint16_t known = recent_site(call); known != site_none) return known;
  KeepErrno const keep_errno;
  const std::uint16_t site = site_of_call(ObjectKind::heap, call);
  store_recent_site(call, site);
  return site;
}

}  // namespace

std::uint16_t find_site_of_block(Call call, std::uint64_t size) {
  const std::uint32_t size_class = runtime.control->split_sizes != 0 ? size_class_of(size) : 0;
  return part_of(whole_site_of_block(call), size_class, this_thread.tag);
}

std::uint16_t site_of_part(std::uint16_t site, std::uint64_t size, std::uint32_t tag) {
  const std::uint16_t whole = wholes[site] != 0 ? wholes[site] : site;
  return part_of(whole, tag == 0 ? size_class_of(size) : 0, tag);
}

std::uint16_t site_of_call(ObjectKind kind, Call call, const char* path) {
  std::uint64_t frames[max_frames];
  const unsigned depth = walk_stack(call, frames, significant_frames());
  std::uint64_t key = mix(hash_of(path), static_cast<std::uint64_t>(kind));
  unsigned kept = 0;
  for (unsigned i = 0; i < depth; ++i) {
    // Direct recursion counts as one frame.
    if (kept > 0 && frames[kept - 1] == frames[i]) continue;
    frames[kept++] = frames[i];
    key = mix(key, frames[i]);
  }
  return add_site(key, kind, frames, kept, path);
}

std::uint16_t site_of_path(ObjectKind kind, const char* path) {
  return add_site(mix(hash_of(path), static_cast<std::uint64_t>(kind)), kind, nullptr, 0, path);
}

Weight weight_of(std::uint64_t begin, std::uint64_t size, std::uint64_t sampled_bytes) {
  const sim::SampledLines& lines = runtime.lines;
  const bool one_by_one = lines.rate_log2() <= 6 && size >= always_sampled;
  if (one_by_one || size >= large_block) return {1, size};
  return {lines.sampled(begin) ? lines.rate() : 0, sampled_bytes << lines.rate_log2()};
}

void count_allocated(std::uint16_t site, Weight weight) {
  SiteRecord& record = runtime.sites[site];
  const bool is_alone = alone();
  const auto bytes = static_cast<std::int64_t>(weight.bytes);
  add(record.allocations, weight.allocations, is_alone);
  add(record.allocated_bytes, weight.bytes, is_alone);
  const std::int64_t live = add(record.live_bytes, bytes, is_alone);
  if (live > record.peak_bytes) record.peak_bytes = live;
  update_live_total(add(runtime.header->live_bytes, bytes, is_alone));
}

void count_freed(std::uint16_t site, std::uint64_t bytes) {
  const bool is_alone = alone();
  const auto freed = -static_cast<std::int64_t>(bytes);
  add(runtime.sites[site].live_bytes, freed, is_alone);
  add(runtime.header->live_bytes, freed, is_alone);
}

void count_moved(std::uint16_t from, std::uint16_t to, Weight weight) {
  SiteRecord& record = runtime.sites[from];
  const auto bytes = static_cast<std::int64_t>(weight.bytes);
  count_freed(from, weight.bytes);
  if (wholes[from] == 0) {
    const std::uint64_t allocated = __atomic_load_n(&record.allocated_bytes, __ATOMIC_RELAXED);
    add(record.allocated_bytes, 0 - (weight.bytes < allocated ? weight.bytes : allocated));
    for (std::int64_t* peak : {&record.peak_bytes, &record.bytes_at_peak}) {
      *peak = *peak > bytes ? *peak - bytes : 0;
    }
  }
  count_allocated(to, weight);
}

}  // namespace nearfar::profile
