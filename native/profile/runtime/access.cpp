// Simulates accesses to sampled lines: the slow path of the instrumented code's test.
#include "profile/runtime/access.hpp"

#include <atomic>

#include "profile/abi.h"
#include "profile/runtime/core_caches.hpp"
#include "profile/runtime/emulation.hpp"
#include "profile/runtime/live.hpp"
#include "profile/runtime/locks.hpp"
#include "profile/runtime/memory_events.hpp"
#include "profile/runtime/pages.hpp"
#include "profile/runtime/ranges.hpp"
#include "profile/runtime/reuse.hpp"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

namespace {

std::uint64_t counter_key(std::uint32_t phase, std::uint16_t site, std::uint32_t instruction) {
  return std::uint64_t{phase} << 48 | std::uint64_t{site} << 32 | instruction;
}

}  // namespace

void count_write_back(std::uint32_t phase, std::uint16_t site) {
  CounterRecord* counter = runtime.counters.find_or_add(counter_key(phase, site, 0), this_thread.id,
                                                        [](CounterRecord&) {});
  if (counter != nullptr) add(counter->read_misses, std::uint64_t{1});
}

namespace {

CounterRecord* counter_of(std::uint64_t key, std::uint32_t site) {
  if (CounterRecord* known = runtime.counters.find(key)) return known;
  record_instruction(site);
  return runtime.counters.find_or_add(key, this_thread.id, [](CounterRecord&) {});
}

// Threads that share a counter may lose each other's updates: a few misses of very many.
bool count_sequence(CounterRecord& counter, std::uint64_t line) {
  unsigned place = 0;
  for (; place < recent_lines - 1; ++place) {
    const std::uint64_t distance = line - counter.recent[place] + 1;  // 0 and 2: neighbours
    if (distance <= 2) break;
  }
  const std::uint64_t distance = line - counter.recent[place] + 1;
  const bool in_sequence = distance == 0 || distance == 2;
  if (in_sequence) add(counter.in_sequence, std::uint64_t{1});
  for (; place > 0; --place) counter.recent[place] = counter.recent[place - 1];
  counter.recent[0] = line;
  return in_sequence;
}

Charge charge_of(std::uint32_t site, bool store, bool in_sequence) {
  const InstructionRecord* record = runtime.instructions.find(std::uint64_t{site} + 1);
  const bool stream = in_sequence || (record != nullptr && record->access_class == NF_STREAM);
  const bool load = !store || (record != nullptr && record->operation == NF_BOTH);
  if (!load) return stream ? Charge::store_stream : Charge::store;
  if (stream) return Charge::stream;
  const bool chase = record != nullptr && record->access_class == NF_CHASE;
  return chase ? Charge::chase : Charge::independent;
}

sim::Outcome simulate(std::uint64_t set, std::uint64_t line, std::uint16_t owner, bool store) {
  Lock const lock(runtime.set_locks[set], this_thread.id);
  return runtime.cache.access_in(set, line, owner, store);
}

}  // namespace

void access_line(std::uint64_t address, std::uint32_t site, bool store, std::uint16_t owner) {
  Guard const guard;
  if (!guard) {
    add(runtime.header->dropped, std::uint64_t{1});
    return;
  }
  register_thread();
  const std::uint32_t phase = nf_current_phase();
  const bool whole = nf_whole(address);
  if (whole) {
    touch_page(phase, address, store);
    nf_recent_page = address >> 12 << 1 | (store ? 1 : 0);
  }
  if (!runtime.lines.sampled(address)) return;
  std::uint16_t* const tag = runtime.shadow.entry(address);
  if (owner == site_none) owner = *tag;
  if (owner == site_none) owner = site_of_untagged(address);
  CounterRecord* counter = counter_of(counter_key(phase, owner, site + 1), site);
  if (counter != nullptr) add(counter->accesses, std::uint64_t{1});
  const std::uint64_t line = runtime.lines.ordinal(address);
  const std::uint64_t set = last_level_set(line);
  const sim::Outcome outcome = simulate(set, line, owner, store);
  if (!outcome.hit) {
    bool in_sequence = false;
    if (counter != nullptr) {
      add(store ? counter->write_misses : counter->read_misses, std::uint64_t{1});
      in_sequence = count_sequence(*counter, line);
    }
    const std::uint64_t group = (line * 0x9E3779B97F4A7C15ull) >> 56;
    add(runtime.header->group_misses[group], std::uint64_t{1});
    count_in_range(phase, owner, address, store ? RangeKind::write_miss : RangeKind::read_miss);
    if (outcome.evicted.dirty()) {
      count_write_back(phase, outcome.evicted.owner());
      count_line_in_range(phase, outcome.evicted.owner(), outcome.evicted.line(),
                          RangeKind::write_back);
    }
    if (emulating()) {
      emulate_line(phase, owner, charge_of(site, store, in_sequence));
      if (outcome.evicted.dirty()) {
        emulate_line(phase, outcome.evicted.owner(),
                     in_sequence ? Charge::write_back_stream : Charge::write_back);
      }
    }
  }
  const bool sampled = reuse_samples(line);
  if (sampled) {
    count_reuse(phase, owner, line, store);
    count_in_core({phase, owner, site, line, address, store, outcome.hit});
  }
  if (counter != nullptr && !sampled && !whole) {
    nf_recent_access& recent = *nf_recent_place(address >> 4, site);
    // A signal handler sees either a free or a complete entry.
    recent.granule = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    recent.site = site;
    recent.owner = owner;
    recent.phase = static_cast<std::uint16_t>(phase);
    recent.word = sim::LineWord::make(line, owner, true).bits;
    recent.way = &runtime.cache.most_recent(set).bits;
    recent.tag = tag;
    recent.accesses = &counter->accesses;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    recent.granule = address >> 4;
  }
  sample_live_sometimes();
}

void access_range(std::uint64_t address, std::uint64_t size, std::uint32_t site, bool store) {
  runtime.lines.for_each(address, size, [&](std::uint64_t line) {
    // The first touched byte determines the owner if objects share the line.
    access_line(line > address ? line : address, site, store);
  });
  for_each_whole_page_without_line(
      address, size, [&](std::uint64_t touched) { access_line(touched, site, store); });
}

}  // namespace nearfar::profile

// Called by entry.c for instrumented code.
extern "C" void nf_access_slow(const void* address, std::uint32_t site, std::uint32_t is_store) {
  if (nearfar::profile::active()) {
    nearfar::profile::access_line(reinterpret_cast<std::uint64_t>(address), site, is_store != 0);
  }
}

extern "C" void __nf_range(const void* address, size_t bytes, std::uint32_t site,
                           std::uint32_t is_store) {
  if (nearfar::profile::active()) {
    nearfar::profile::access_range(reinterpret_cast<std::uint64_t>(address), bytes, site,
                                   is_store != 0);
  }
}
