// Simulates an access that the plugin reported: runtime/access.cpp without its short cuts.
#include "profile/runtime/access.hpp"

#include <array>
#include <unordered_map>

#include "profile/qemu/replay/instructions.hpp"
#include "profile/runtime/live.hpp"
#include "profile/runtime/memory_events.hpp"
#include "profile/runtime/pages.hpp"
#include "profile/runtime/ranges.hpp"
#include "profile/runtime/reuse.hpp"
#include "profile/runtime/runtime.hpp"

namespace nearfar::profile {

namespace {

using Recent = std::array<std::uint64_t, recent_lines>;

// Ordinals of the last sampled lines that missed, by phase, object and *block* of instructions: an
// unrolled loop touches each page by a different instruction, but from the same block.
std::unordered_map<std::uint64_t, Recent> sequences;
std::uint64_t current_block = 0;

std::uint64_t counter_key(std::uint32_t phase, std::uint16_t site, std::uint32_t instruction) {
  return std::uint64_t{phase} << 48 | std::uint64_t{site} << 32 | instruction;
}

CounterRecord* counter_of(std::uint64_t key) {
  return runtime.counters.find_or_add(key, this_thread.id, [](CounterRecord&) {});
}

bool continues_sequence(std::uint64_t key, std::uint64_t line) {
  Recent& recent = sequences[key];
  unsigned place = 0;
  std::uint64_t distance = 0;
  for (; place < recent_lines - 1; ++place) {
    distance = line - recent[place] + 1;  // 0 and 2: neighbours
    if (distance <= 2) break;
  }
  distance = line - recent[place] + 1;
  for (; place > 0; --place) recent[place] = recent[place - 1];
  recent[0] = line;
  return distance == 0 || distance == 2;
}

}  // namespace

void count_access(const GuestAccess& access) {
  current_block = access.block;
  access_line(access.address, number_of(access), access.store);
}

void reset_sequences() { sequences.clear(); }

void count_sample(const GuestAccess& access, bool missed, std::uint64_t events) {
  const std::uint32_t site = number_of(access);
  std::uint16_t owner = *runtime.shadow.entry(access.address);
  if (owner == site_none) owner = site_of_untagged(access.address);
  const std::uint64_t key = counter_key(nf_current_phase(), owner, site + 1);
  if (runtime.counters.find(key) == nullptr) record_instruction(site);
  CounterRecord* counter = counter_of(key);
  if (counter == nullptr) return;
  counter->accesses += events;
  if (!missed) return;
  (access.store ? counter->write_misses : counter->read_misses) += events;
  const std::uint64_t line = runtime.lines.ordinal(access.address);
  group_misses(line) += events;
  RangeCursor cursor;
  count_in_range(cursor, nf_current_phase(), owner, access.address,
                 access.store ? RangeKind::write_miss : RangeKind::read_miss, events);
}

void access_line(std::uint64_t address, std::uint32_t site, bool store, std::uint16_t owner) {
  const std::uint32_t phase = nf_current_phase();
  if (nf_whole(address)) touch_page(phase, address, store);
  if (!runtime.lines.sampled(address)) return;
  if (owner == site_none) owner = *runtime.shadow.entry(address);
  if (owner == site_none) owner = site_of_untagged(address);
  const std::uint64_t key = counter_key(phase, owner, site + 1);
  if (runtime.counters.find(key) == nullptr) record_instruction(site);
  CounterRecord* counter = counter_of(key);
  if (counter != nullptr) ++counter->accesses;
  const std::uint64_t line = runtime.lines.ordinal(address);
  const std::uint64_t set = last_level_set(line);
  const sim::Outcome outcome = runtime.cache.access_in(set, line, owner, store);
  if (!outcome.hit) {
    if (counter != nullptr) {
      ++(store ? counter->write_misses : counter->read_misses);
      const std::uint64_t loop =
          current_block * 0x9E3779B97F4A7C15ull ^ counter_key(phase, owner, 0);
      if (continues_sequence(loop, line)) ++counter->in_sequence;
    }
    ++group_misses(line);
    RangeCursor cursor;
    count_in_range(cursor, phase, owner, address,
                   store ? RangeKind::write_miss : RangeKind::read_miss);
    if (outcome.evicted.dirty()) {
      CounterRecord* evicted = counter_of(counter_key(phase, outcome.evicted.owner(), 0));
      if (evicted != nullptr) ++evicted->read_misses;
      RangeCursor evicted_cursor;
      count_line_in_range(evicted_cursor, phase, outcome.evicted.owner(), outcome.evicted.line(),
                          RangeKind::write_back);
    }
  }
  if (reuse_samples(line)) count_reuse(phase, owner, line, store);
  sample_live_sometimes();
}

void access_range(std::uint64_t address, std::uint64_t size, std::uint32_t site, bool store) {
  runtime.lines.for_each(address, size, [&](std::uint64_t line) {
    access_line(line > address ? line : address, site, store);
  });
  for_each_whole_page_without_line(
      address, size, [&](std::uint64_t touched) { access_line(touched, site, store); });
}

}  // namespace nearfar::profile
