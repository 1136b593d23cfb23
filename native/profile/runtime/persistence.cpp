#include "profile/runtime/persistence.hpp"

#include "profile/abi.h"
#include "profile/runtime/access.hpp"
#include "profile/runtime/event_count.hpp"
#include "profile/runtime/memory_events.hpp"
#include "profile/runtime/pending_access.h"
#include "profile/streams.hpp"

namespace nearfar::profile {

namespace {

// Writes the sampled lines of a range from the simulated cache to memory. If `site` is site_none,
// the range is in no region, as small heap blocks are: then counts each line, or its bytes in the
// range, for the site of its block (EventRecord).
void write_sampled(std::uint32_t phase, std::uint16_t site, std::uint64_t address,
                   std::uint64_t size, bool stay, bool write_backs,
                   std::uint64_t EventRecord::*sampled, bool by_bytes) {
  runtime.lines.for_each(address, size, [&](std::uint64_t begin) {
    const std::uint64_t from = begin > address ? begin : address;
    const std::uint64_t end = begin + line_bytes;
    const std::uint64_t to = end < address + size ? end : address + size;
    std::uint16_t owner = site;
    if (owner == site_none) {
      owner = *runtime.shadow.entry(from);
      if (owner == site_none) owner = site_of_untagged(from);
      count_event(phase, owner, sampled, by_bytes ? to - from : 1);
    }
    const std::uint64_t line = runtime.lines.ordinal(begin);
    const std::uint64_t set = last_level_set(line);
    bool dirty = false;
    {
      Lock const lock(runtime.set_locks[set], this_thread.id);
      dirty = runtime.cache.flush_in(set, line, stay);
    }
    if (dirty && write_backs) count_write_back(phase, owner);
  });
}

// Common entry code; calls `count(phase)` unless this thread is already inside the runtime.
template <typename Count>
void at_entry(Count count) {
  if (!active()) return;
  nf_settle_accesses();
  Guard const guard;
  if (!guard) {
    add(runtime.header->dropped, std::uint64_t{1});
    return;
  }
  register_thread();
  count(nf_current_phase());
}

void record_pending_fence(std::uint16_t site) {
  this_thread.flushed = 1;
  this_thread.flushed_site = site;
}

}  // namespace

void lines_flushed(std::uint64_t address, std::uint64_t size, bool stay) {
  if (size == 0) return;
  at_entry([&](std::uint32_t phase) {
    const std::uint64_t begin = address & ~(line_bytes - 1);
    const std::uint64_t lines = (address + size - begin + line_bytes - 1) / line_bytes;
    const std::uint16_t site = runtime.regions.find(address);
    count_event(phase, site, &EventRecord::flushes, lines);
    write_sampled(phase, site, begin, lines * line_bytes, stay, true, &EventRecord::sampled_flushes,
                  false);
    record_pending_fence(site);
  });
}

void bytes_streamed(std::uint64_t address, std::uint64_t size) {
  if (size == 0) return;
  at_entry([&](std::uint32_t phase) {
    const std::uint16_t site = runtime.regions.find(address);
    count_event(phase, site, &EventRecord::nt_bytes, size);
    // A cached line is dropped; the store includes its dirty bytes.
    write_sampled(phase, site, address, size, false, false, &EventRecord::sampled_nt_bytes, true);
    record_pending_fence(site);
  });
}

void fence_passed() {
  if (this_thread.flushed == 0) return;
  at_entry([](std::uint32_t phase) {
    count_event(phase, this_thread.flushed_site, &EventRecord::fences, 1);
    this_thread.flushed = 0;
  });
}

void bytes_logged(std::uint64_t address, std::uint64_t size) {
  at_entry([&](std::uint32_t phase) {
    count_event(phase, runtime.regions.find(address), &EventRecord::log_bytes, size);
  });
}

void range_synced(std::uint64_t address, std::uint64_t size) {
  at_entry([&](std::uint32_t phase) {
    const std::uint16_t site = runtime.regions.find(address);
    count_event(phase, site, &EventRecord::syncs, 1);
    count_event(phase, site, &EventRecord::sync_bytes, size);
  });
}

}  // namespace nearfar::profile

extern "C" void __nf_flush(const void* address, std::uint32_t stays) {
  nearfar::profile::lines_flushed(reinterpret_cast<std::uint64_t>(address), 1, stays != 0);
}

extern "C" void __nf_stream_store(const void* address, std::uint32_t bytes) {
  nearfar::profile::bytes_streamed(reinterpret_cast<std::uint64_t>(address), bytes);
}

extern "C" void __nf_fence(void) { nearfar::profile::fence_passed(); }
