#include "profile/runtime/core_caches.hpp"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "profile/runtime/event_count.hpp"
#include "profile/runtime/os.hpp"
#include "profile/runtime/translation_size.hpp"
#include "sim/cache/translations.hpp"
#include "sim/reuse/reuse_stack.hpp"
#include "sim/reuse/reuse_tracker.hpp"

namespace nearfar::profile {

// As many walks as a program's hottest loops have instructions, and one page each of memory.
constexpr unsigned walks_kept = 64;

struct CoreCaches {
  struct Walks {
    std::uint32_t site;
    sim::Translations::Walk small;
    sim::Translations::Walk large;
  };
  std::uint32_t thread;
  sim::ReuseStack lines;
  sim::Translations small_pages;
  sim::Translations large_pages;
  Walks walks[walks_kept];
};

namespace {

constexpr unsigned small_page_log2 = 12;
constexpr unsigned large_page_log2 = 21;
// Of more threads at once the last to come are not looked at.
constexpr std::uint32_t most_cores = 256;
// Lines written last by a thread: as many as looked-at lines of the largest caches there are.
constexpr std::uint64_t written_lines = 1u << 16;

char* memory = nullptr;
std::uint64_t* written = nullptr;  // by hash of the line: line << 16 | core + 1
std::uint32_t cores_used = 0;
std::uint32_t next_given = 0;
std::uint64_t private_lines = 0;  // looked at, that a private cache holds
unsigned looked_at_log2 = 0;

std::uint32_t stack_capacity() {
  return static_cast<std::uint32_t>(std::bit_ceil(std::max<std::uint64_t>(private_lines, 16)));
}
std::uint64_t translation_bytes(unsigned page_log2) {
  return sizeof(sim::LineWord) *
         sim::Translations::geometry(runtime.header->translations, page_log2, looked_at_log2)
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

void begin(CoreCaches& core) {
  memset(static_cast<void*>(&core), 0, core_bytes());
  core.thread = this_thread.id;
  char* room = reinterpret_cast<char*>(&core + 1);
  core.lines = sim::ReuseStack(stack_capacity(), room);
  room += sim::ReuseStack::bytes_for(stack_capacity());
  auto* small = reinterpret_cast<sim::LineWord*>(room);
  auto* large = reinterpret_cast<sim::LineWord*>(room + translation_bytes(small_page_log2));
  const std::uint32_t entries = runtime.header->translations;
  core.small_pages = sim::Translations(entries, small_page_log2, looked_at_log2, small);
  core.large_pages = sim::Translations(entries, large_page_log2, looked_at_log2, large);
}

bool is_gone(std::uint32_t thread) {
  return syscall(SYS_tgkill, getpid(), static_cast<int>(thread), 0) != 0;
}

// What threads have that came when all cores were taken: no memory, only a place.
CoreCaches* no_core() { return &core_at(most_cores); }

// A core that no thread has.
CoreCaches* give_core() {
  std::uint32_t place = __atomic_fetch_add(&cores_used, 1, __ATOMIC_RELAXED);
  if (place < most_cores) {
    begin(core_at(place));
    return &core_at(place);
  }
  __atomic_store_n(&cores_used, most_cores, __ATOMIC_RELAXED);
  // Threads that come and go do so in turn: the next place is most often free.
  for (unsigned turn = 0; turn < most_cores; ++turn) {
    place = __atomic_fetch_add(&next_given, 1, __ATOMIC_RELAXED) % most_cores;
    CoreCaches& core = core_at(place);
    std::uint32_t before = __atomic_load_n(&core.thread, __ATOMIC_RELAXED);
    if (is_gone(before) && __atomic_compare_exchange_n(&core.thread, &before, this_thread.id, false,
                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      begin(core);
      return &core;
    }
  }
  return no_core();
}

// Whether another core wrote the line last, and its cache or the shared one still has it.
bool is_transferred(const CoreAccess& access, std::uint64_t self) {
  std::uint64_t& entry = written[(access.line * 0x9E3779B97F4A7C15ull) >> 48];
  const std::uint64_t known = __atomic_load_n(&entry, __ATOMIC_RELAXED);
  const bool here = known != 0 && known >> 16 == access.line;
  const bool others = here && (known & 0xFFFF) != self;
  if (access.store) {
    __atomic_store_n(&entry, access.line << 16 | self, __ATOMIC_RELAXED);
  } else if (others) {
    __atomic_store_n(&entry, std::uint64_t{0}, __ATOMIC_RELAXED);  // both have it now, clean
  }
  return others && access.shared_hit;
}

void count_translations(CoreCaches& core, const CoreAccess& access) {
  CoreCaches::Walks& walks = core.walks[access.site % walks_kept];
  if (walks.site != access.site) walks = {access.site, {}, {}};
  const std::uint64_t small = core.small_pages.touch(access.address, walks.small);
  const std::uint64_t large = core.large_pages.touch(access.address, walks.large);
  if (small != 0) count_event(access.phase, access.owner, &EventRecord::small_page_misses, small);
  if (large != 0) count_event(access.phase, access.owner, &EventRecord::large_page_misses, large);
}

}  // namespace

bool reserve_core_caches() {
  ProcessHeader& header = *runtime.header;
  looked_at_log2 = runtime.lines.rate_log2() + sim::ReuseTracker::least_thinning_log2;
  const long known = sysconf(_SC_LEVEL2_CACHE_SIZE);
  // Where the processor does not say, there is no private cache to speak of.
  header.private_bytes = known > 0 ? static_cast<std::uint64_t>(known) : 0;
  if (header.private_bytes > runtime.control->cache_bytes) header.private_bytes = 0;
  private_lines = (header.private_bytes / 64) >> looked_at_log2;
  const TranslationSize size = translation_size();
  header.translations = size.entries;
  header.translations_known = size.known ? 1 : 0;
  memory = static_cast<char*>(reserve_memory(most_cores * core_bytes()));
  written = static_cast<std::uint64_t*>(reserve_memory(written_lines * sizeof(std::uint64_t)));
  return memory != nullptr && written != nullptr;
}

void count_in_core(const CoreAccess& access) {
  if (this_thread.caches == nullptr) this_thread.caches = give_core();
  if (this_thread.caches == no_core()) return;
  CoreCaches& core = *this_thread.caches;
  count_translations(core, access);
  const std::uint64_t stands_for = std::uint64_t{1} << looked_at_log2;
  const bool transferred = is_transferred(access, place_of(core) + 1);
  if (transferred) count_event(access.phase, access.owner, &EventRecord::transfers, stands_for);
  if (private_lines == 0) return;
  const std::uint32_t distance = core.lines.touch(access.line);
  if (core.lines.over()) core.lines.drop_oldest();
  if (transferred || distance >= private_lines)
    count_event(access.phase, access.owner, &EventRecord::private_misses, stands_for);
}

}  // namespace nearfar::profile
