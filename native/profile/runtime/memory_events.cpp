#include "profile/runtime/memory_events.hpp"

#include "profile/runtime/access.hpp"
#include "profile/runtime/live.hpp"
#include "profile/runtime/ranges.hpp"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/sites.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

namespace {

std::uint64_t whole_pages(std::uint64_t size) { return (size + 4095) & ~4095ull; }

// Whether any memory was named (range_named, piece_allocated). If so, sampled lines of a block or
// region may have other owners than the block.
bool any_named = false;

// Unit of ownership in bytes (shadow.hpp).
constexpr std::uint64_t granule = 16;
std::uint64_t granule_weight() { return granule * runtime.lines.rate(); }

// Calls `f(address)` for each granule of sampled lines that [begin, begin + size) touches.
template <typename F>
void for_each_granule(std::uint64_t begin, std::uint64_t size, F f) {
  runtime.lines.for_each(begin, size, [&](std::uint64_t line) {
    const std::uint64_t end = line + 64 < begin + size ? line + 64 : begin + size;
    const std::uint64_t first = (line > begin ? line : begin) & ~(granule - 1);
    for (std::uint64_t at = first; at < end; at += granule) f(at);
  });
}

// Counts [begin, end), which was counted as `bytes`, as freed. Parts that belong to other owners
// are subtracted from these, the rest from `site`.
void count_end(std::uint64_t begin, std::uint64_t end, std::uint16_t site, std::uint64_t bytes) {
  if (any_named) {
    const std::uint64_t each = granule_weight();
    for_each_granule(begin, end - begin, [&](std::uint64_t at) {
      const std::uint16_t owner = *runtime.shadow.entry(at);
      if (owner == site || owner < first_free_site) return;
      const std::uint64_t part = each < bytes ? each : bytes;
      count_freed(owner, part);
      bytes -= part;
    });
  }
  count_freed(site, bytes);
}

// `of_block`: the range is a block, whose regions are counted with it.
void drop_range(std::uint64_t begin, std::uint64_t end, bool of_block = false) {
  runtime.regions.remove(begin, end, [&](const Region& part) {
    if (part.counted || of_block) count_end(part.begin, part.end, part.site, part.end - part.begin);
    free_position(part);
  });
  runtime.shadow.clear(begin, end - begin);
}

void add_range(const Region& region) {
  if (!runtime.regions.insert(region)) add(runtime.header->lost_regions, std::uint64_t{1});
}

// Tags a block with its site; returns its weight.
Weight place_block(std::uint64_t address, std::uint64_t size, std::uint16_t site) {
  if (is_in_two_pages(address, size)) {
    const sim::SampledLines::Cover cover = sim::SampledLines::cover(address, size);
    runtime.shadow.tag(cover, Shadow::tags_of(site), alone());
    return weight_of(cover);
  }
  if (size < large_block) {
    return weight_of(address, size, runtime.shadow.tag(address, size, site));
  }
  drop_range(address, address + size);
  // The bytes are counted for the block, not for the region.
  Region block{address, address + size, site, false};
  set_position(block);
  add_range(block);
  return weight_of(address, size, 0);
}

bool header_sampled(std::uint64_t address, std::uint64_t header_bytes) {
  return header_bytes != 0 && runtime.lines.sampled(address - header_bytes);
}

}  // namespace

void block_allocated(std::uint64_t address, std::uint64_t size, std::uint64_t header_bytes,
                     Call call) {
  const bool in_header = header_sampled(address, header_bytes);
  if (header_bytes != 0 && !in_header && !runtime.lines.any_in(address, size)) return;
  std::uint16_t site = site_none;
  {
    Guard const guard;
    if (!guard) return;
    register_thread();
    add(runtime.header->unusual_blocks, std::uint64_t{1});
    site = site_of_block(call, size);
    if (size != 0) count_allocated(site, place_block(address, size, site));
    sample_live_sometimes();
  }
  if (in_header) access_line(address - header_bytes, in_malloc, true, site);
}

namespace {

// Blocks that were allocated before the runtime was active have no site.
bool is_counted(std::uint16_t site) { return site == site_other || site >= first_free_site; }

}  // namespace

std::uint16_t block_freed(std::uint64_t address, std::uint64_t size) {
  if (!runtime.lines.any_in(address, size)) return site_none;
  Guard const guard;
  if (!guard) return site_none;
  if (is_in_two_pages(address, size)) {
    const sim::SampledLines::Cover cover = sim::SampledLines::cover(address, size);
    const std::uint16_t site = runtime.shadow.first_tag(cover);
    if (!is_counted(site)) return site_none;
    count_freed(site, weight_of(cover).bytes);
    return site;
  }
  if (size >= large_block) {
    const std::uint16_t site = runtime.regions.find(address);
    const bool known = is_counted(site);
    drop_range(address, address + size, known);
    return known ? site : std::uint16_t{site_none};
  }
  const sim::SampledLines::Overlap sampled = runtime.lines.overlap(address, size);
  const std::uint16_t site = *runtime.shadow.entry(sampled.first);
  if (is_counted(site)) {
    const std::uint64_t bytes = weight_of(address, size, sampled.bytes).bytes;
    if (size >= unmappable_block) {
      count_end(address, address + size, site, bytes);
    } else {
      count_freed(site, bytes);
    }
  }
  // Freed memory is not touched, and the next allocation overwrites the tags. So tags are removed
  // only from memory that may be unmapped.
  if (size >= unmappable_block) runtime.shadow.tag(address, size, site_none);
  return is_counted(site) ? site : std::uint16_t{site_none};
}

void block_cleared(std::uint64_t address, std::uint64_t size) {
  access_range(address, size, in_calloc, true);
}

void block_copied(std::uint64_t from, std::uint64_t to, std::uint64_t size) {
  access_range(from, size, in_realloc_from, false);
  access_range(to, size, in_realloc_to, true);
}

void block_kept(std::uint64_t address, std::uint64_t size, std::uint16_t site) {
  Guard const guard;
  if (!guard || site == site_none) return;
  Weight weight = place_block(address, size, site);
  weight.allocations = 0;
  count_allocated(site, weight);
}

bool may_map(std::uint64_t, bool) { return true; }

void range_mapped(std::uint64_t address, std::uint64_t size, bool accessible, const char* path,
                  std::uint64_t offset, Call call) {
  Guard const guard;
  if (!guard) return;
  register_thread();
  size = whole_pages(size);
  drop_range(address, address + size);
  const std::uint16_t site =
      path == nullptr ? site_of_call(ObjectKind::mmap, call) : site_of_path(ObjectKind::file, path);
  Region mapping{address, address + size, site, accessible};
  if (path == nullptr) {
    set_position(mapping);
  } else {
    set_file_position(mapping, offset);
  }
  add_range(mapping);
  if (accessible) count_allocated(site, {1, size});
  sample_live();
}

void range_unmapped(std::uint64_t address, std::uint64_t size) {
  Guard const guard;
  if (guard) drop_range(address, address + whole_pages(size));
}

void range_moved(std::uint64_t from, std::uint64_t from_size, std::uint64_t to,
                 std::uint64_t to_size) {
  Guard const guard;
  if (!guard) return;
  const Region before = runtime.regions.region_at(from);
  drop_range(from, from + whole_pages(from_size));
  to_size = whole_pages(to_size);
  drop_range(to, to + to_size);
  if (before.site == site_none) return;
  Region moved{to, to + to_size, before.site, true};
  if (runtime.sites[before.site].kind == ObjectKind::file) {
    moved.position =
        before.position == no_position ? no_position : before.position + (from - before.begin);
  } else {
    set_position(moved);
  }
  add_range(moved);
  count_allocated(before.site, {0, to_size});
}

void range_accessible(std::uint64_t address, std::uint64_t size) {
  Guard const guard;
  if (!guard) return;
  // Maximum number of parts that become counted regions; reserved ranges are made accessible in a
  // few parts.
  constexpr unsigned max_parts = 16;
  Region parts[max_parts];
  unsigned count = 0;
  runtime.regions.remove(address, address + whole_pages(size), [&](const Region& part) {
    if (count < max_parts) parts[count++] = part;
  });
  for (unsigned i = 0; i < count; ++i) {
    if (!parts[i].counted && parts[i].site >= first_free_site &&
        runtime.sites[parts[i].site].kind != ObjectKind::heap &&
        runtime.sites[parts[i].site].kind != ObjectKind::globals) {
      parts[i].counted = true;
      count_allocated(parts[i].site, {1, parts[i].end - parts[i].begin});
    }
    add_range(parts[i]);
  }
}

void range_named(std::uint64_t address, std::uint64_t size, std::uint32_t tag) {
  Guard const guard;
  if (!guard) return;
  register_thread();
  const std::uint64_t first = runtime.lines.overlap(address, size).first;
  std::uint16_t before = *runtime.shadow.entry(first);
  if (before == site_none) before = runtime.regions.find(address);
  const std::uint16_t part = site_of_part(before, size, tag);
  if (part == before) return;
  any_named = true;
  if (size < large_block) {
    count_moved(before, part, weight_of(address, size, runtime.shadow.tag(address, size, part)));
    return;
  }
  bool counted = false;
  runtime.regions.remove(address, address + size, [&](const Region& region) {
    counted = region.counted;
    free_position(region);
  });
  runtime.shadow.clear(address, size);
  Region named{address, address + size, part, counted};
  set_position(named);
  add_range(named);
  count_moved(before, part, {1, size});
}

void piece_allocated(std::uint64_t address, std::uint64_t size, Call call) {
  Guard const guard;
  if (!guard) return;
  register_thread();
  const std::uint16_t mapping = runtime.regions.find(address);
  if (mapping < first_free_site || runtime.sites[mapping].kind != ObjectKind::mmap) return;
  const std::uint16_t piece = site_of_block(call, size);
  any_named = true;
  const Weight part{0, granule_weight()};
  for_each_granule(address, size, [&](std::uint64_t at) {
    std::uint16_t& owner = *runtime.shadow.entry(at);
    if (owner == site_none || owner == mapping) {
      count_moved(mapping, piece, part);
    } else {
      count_freed(owner, part.bytes);
      count_allocated(piece, part);
    }
    owner = piece;
  });
  if (runtime.lines.sampled(address)) count_allocated(piece, {runtime.lines.rate(), 0});
}

std::uint16_t site_of_untagged(std::uint64_t address) {
  std::uint16_t site = runtime.regions.find(address);
  if (site == site_none) {
    map_modules();
    site = runtime.regions.find(address);
  }
  if (site == site_none) site = site_unknown;
  // Stacks are large ranges of which little is used, so only touched memory counts.
  if (site == site_stack) count_allocated(site, {0, 64 * runtime.lines.rate()});
  *runtime.shadow.entry(address) = site;
  return site;
}

}  // namespace nearfar::profile
