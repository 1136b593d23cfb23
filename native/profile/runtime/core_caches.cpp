#include "profile/runtime/core_caches.hpp"

#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "profile/runtime/event_count.hpp"
#include "profile/runtime/os.hpp"
#include "profile/runtime/thread_places.hpp"
#include "profile/runtime/translation_size.hpp"
#include "sim/cache/translations.hpp"
#include "sim/reuse/reuse_stack.hpp"
#include "sim/reuse/reuse_tracker.hpp"

namespace nearfar::profile {

// Walks per thread: as many as hot loops have instructions. They fill a page of memory.
constexpr unsigned max_walks = 64;

// Number of instructions whose misses a thread tracks at the same time; further ones take turns.
constexpr unsigned max_streams = 256;

struct CoreCaches {
  struct Walks {
    std::uint32_t site;
    sim::Translations::Walk small;
    sim::Translations::Walk large;
  };
  std::uint64_t last_line;  // ordinal of the last accessed line, plus 1
  sim::ReuseStack lines;
  sim::Translations small_pages;
  sim::Translations large_pages;
  Walks walks[max_walks];
  RecentAccess recents[recent_accesses];
  CounterBatch batch;
  RecentMisses misses[max_streams];
};

namespace {

constexpr unsigned small_page_log2 = 12;
constexpr unsigned large_page_log2 = 21;
// If there are more threads at the same time, the last ones are not simulated.
constexpr std::uint32_t max_cores = 256;
// Recently written lines: as many as there are sampled lines in the largest caches.
constexpr std::uint64_t written_lines = 1u << 16;

char* memory = nullptr;
// Marks threads without a core, because all cores were taken; it has no memory.
CoreCaches* no_core = nullptr;
std::uint64_t* written = nullptr;  // by hash of the line: line << 16 | core + 1
ThreadPlaces<max_cores> places;
std::uint64_t private_lines = 0;  // number of sampled lines that fit into a private cache
unsigned sampling_log2 = 0;

std::uint32_t stack_capacity() {
  return static_cast<std::uint32_t>(std::bit_ceil(std::max<std::uint64_t>(private_lines, 16)));
}
std::uint64_t translation_bytes(unsigned page_log2) {
  return sizeof(sim::LineWord) *
         sim::Translations::geometry(runtime.header->translations, page_log2, sampling_log2)
             .lines();
}
std::uint64_t core_bytes() {
  const std::uint64_t all = sizeof(CoreCaches) + sim::ReuseStack::bytes_for(stack_capacity()) +
                            translation_bytes(small_page_log2) + translation_bytes(large_page_log2);
  return (all + 4095) & ~std::uint64_t{4095};
}
CoreCaches& core_at(std::uint32_t place) {
  return *reinterpret_cast<CoreCaches*>(memory + place * core_bytes());
}
std::uint32_t place_of(const CoreCaches& core) {
  return static_cast<std::uint32_t>(
      static_cast<std::uint64_t>(reinterpret_cast<const char*>(&core) - memory) / core_bytes());
}

void initialise(CoreCaches& core) {
  memset(static_cast<void*>(&core), 0, core_bytes());
  char* memory_begin = reinterpret_cast<char*>(&core + 1);
  core.lines = sim::ReuseStack(stack_capacity(), memory_begin);
  memory_begin += sim::ReuseStack::bytes_for(stack_capacity());
  auto* small = reinterpret_cast<sim::LineWord*>(memory_begin);
  auto* large = reinterpret_cast<sim::LineWord*>(memory_begin + translation_bytes(small_page_log2));
  const std::uint32_t entries = runtime.header->translations;
  core.small_pages = sim::Translations(entries, small_page_log2, sampling_log2, small);
  core.large_pages = sim::Translations(entries, large_page_log2, sampling_log2, large);
}

// Claims a core that no other thread uses.
[[gnu::noinline]] CoreCaches* claim_core() {
  const std::uint32_t place = places.claim(thread_id());
  if (place == max_cores) return no_core;
  initialise(core_at(place));
  return &core_at(place);
}

// Whether another core was the last to write the line, and its cache or the shared cache still
// contains it.
bool is_transferred(const CoreAccess& access, std::uint64_t self) {
  std::uint64_t& entry = written[(access.line * 0x9E3779B97F4A7C15ull) >> 48];
  const std::uint64_t by_self = access.line << 16 | self;
  if (places.used() == 1) {
    // No other core wrote it. The entry is rarely cached, so reading it would take long.
    if (access.store) __atomic_store_n(&entry, by_self, __ATOMIC_RELAXED);
    return false;
  }
  const std::uint64_t known = __atomic_load_n(&entry, __ATOMIC_RELAXED);
  const bool recorded = known != 0 && known >> 16 == access.line;
  const bool by_other = recorded && (known & 0xFFFF) != self;
  if (access.store) {
    __atomic_store_n(&entry, by_self, __ATOMIC_RELAXED);
  } else if (by_other) {
    __atomic_store_n(&entry, std::uint64_t{0}, __ATOMIC_RELAXED);  // now clean in both caches
  }
  return by_other && access.shared_hit;
}

void count_translations(CoreCaches& core, const CoreAccess& access) {
  CoreCaches::Walks& walks = core.walks[access.site % max_walks];
  if (walks.site != access.site) walks = {access.site, {}, {}};
  const std::uint64_t small = core.small_pages.touch(access.address, walks.small);
  const std::uint64_t large = core.large_pages.touch(access.address, walks.large);
  const auto count_walks = [&](std::uint64_t EventRecord::*counter, std::uint64_t walked) {
    if (walked != 0) count_event(access.phase, access.owner, counter, walked, &core.batch);
  };
  count_walks(&EventRecord::small_page_misses, small);
  count_walks(&EventRecord::large_page_misses, large);
}

}  // namespace

bool reserve_core_caches() {
  ProcessHeader& header = *runtime.header;
  sampling_log2 = runtime.lines.rate_log2() + sim::ReuseTracker::min_thinning_log2;
  const long known = sysconf(_SC_LEVEL2_CACHE_SIZE);
  // If the size is unknown, no private cache is simulated.
  header.private_bytes = known > 0 ? static_cast<std::uint64_t>(known) : 0;
  if (header.private_bytes > runtime.control->cache_bytes) header.private_bytes = 0;
  private_lines = (header.private_bytes / 64) >> sampling_log2;
  const TranslationSize size = translation_size();
  header.translations = size.entries;
  header.translations_known = size.known ? 1 : 0;
  memory = static_cast<char*>(reserve_memory(max_cores * core_bytes()));
  no_core = &core_at(max_cores);
  written = static_cast<std::uint64_t*>(reserve_memory(written_lines * sizeof(std::uint64_t)));
  return memory != nullptr && written != nullptr;
}

RecentAccess* recents_of_core() {
  if (this_thread.caches == nullptr) this_thread.caches = claim_core();
  return this_thread.caches == no_core ? nullptr : this_thread.caches->recents;
}

std::uint64_t* recent_misses(CounterRecord& counter) {
  if (places.used() <= 1 || recents_of_core() == nullptr) return counter.recent;
  const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(&counter) * 0x9E3779B97F4A7C15ull;
  RecentMisses& misses = this_thread.caches->misses[(mixed >> 32) % max_streams];
  if (misses.counter != &counter) {
    if (misses.counter != nullptr)
      memcpy(misses.counter->recent, misses.lines, sizeof misses.lines);
    memcpy(misses.lines, counter.recent, sizeof misses.lines);
    misses.counter = &counter;
  }
  return misses.lines;
}

CounterBatch* batch_of_core() {
  return recents_of_core() == nullptr ? nullptr : &this_thread.caches->batch;
}

void count_in_core(const CoreAccess& access) {
  if (recents_of_core() == nullptr) return;
  CoreCaches& core = *this_thread.caches;
  // The same line again: both TLBs hit, and its page remains the most recent in its set.
  const bool repeated = core.last_line == access.line + 1;
  core.last_line = access.line + 1;
  if (!repeated) count_translations(core, access);
  const std::uint64_t weight = std::uint64_t{1} << sampling_log2;
  const bool transferred = is_transferred(access, place_of(core) + 1);
  if (transferred)
    count_event(access.phase, access.owner, &EventRecord::transfers, weight, &core.batch);
  if (private_lines == 0) return;
  const std::uint32_t distance = repeated ? 0 : core.lines.touch(access.line);
  core.lines.drop_excess();
  if (transferred || distance >= private_lines)
    count_event(access.phase, access.owner, &EventRecord::private_misses, weight, &core.batch);
}

}  // namespace nearfar::profile
