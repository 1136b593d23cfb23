// Simulates accesses to sampled lines: the slow path of the instrumented code's test.
#include "profile/runtime/access.hpp"

#include <pthread.h>
#include <stdlib.h>
#include <sys/single_threaded.h>
#include <threads.h>
#include <unistd.h>

#include "base/keep_order.hpp"
#include "profile/abi.h"
#include "profile/runtime/core_caches.hpp"
#include "profile/runtime/emulation.hpp"
#include "profile/runtime/hooks.hpp"
#include "profile/runtime/live.hpp"
#include "profile/runtime/locks.hpp"
#include "profile/runtime/memory_events.hpp"
#include "profile/runtime/pages.hpp"
#include "profile/runtime/pending_access.h"
#include "profile/runtime/ranges.hpp"
#include "profile/runtime/reuse.hpp"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/thread.hpp"

__thread struct nf_pending nf_pending __attribute__((tls_model("initial-exec"))) = {
    NF_PENDING_ACCESSES, NF_PENDING_ACCESSES, NF_PENDING_ACCESSES, {}};

__thread std::uint64_t nf_recent_page __attribute__((tls_model("initial-exec")));

namespace nearfar::profile {

namespace {

std::uint64_t counter_key(std::uint32_t phase, std::uint16_t site, std::uint32_t instruction) {
  return std::uint64_t{phase} << 48 | std::uint64_t{site} << 32 | instruction;
}

}  // namespace

void count_write_back(std::uint32_t phase, std::uint16_t site, CounterBatch* batch) {
  CounterRecord* counter = runtime.counters.find_or_add(counter_key(phase, site, 0), this_thread.id,
                                                        [](CounterRecord&) {});
  if (counter != nullptr) count(batch, counter->read_misses, 1);
}

namespace {

CounterRecord* counter_of(std::uint64_t key, std::uint32_t site) {
  if (CounterRecord* known = runtime.counters.find(key)) return known;
  record_instruction(site);
  return runtime.counters.find_or_add(key, this_thread.id, [](CounterRecord&) {});
}

bool count_sequence(CounterRecord& counter, std::uint64_t line, CounterBatch* batch) {
  std::uint64_t* const recent = recent_misses(counter);
  unsigned place = 0;
  for (; place < recent_lines - 1; ++place) {
    const std::uint64_t distance = line - recent[place] + 1;  // 0 and 2: neighbours
    if (distance <= 2) break;
  }
  const std::uint64_t distance = line - recent[place] + 1;
  const bool in_sequence = distance == 0 || distance == 2;
  if (in_sequence) count(batch, counter.in_sequence, 1);
  for (; place > 0; --place) recent[place] = recent[place - 1];
  recent[0] = line;
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

unsigned recent_place(std::uint64_t granule, std::uint32_t site) {
  return (granule >> 2 ^ site) % recent_accesses;
}

// Counts the access and returns true if it repeats `recent`.
bool is_repeated(const nf_pending_access& access, std::uint32_t phase, const RecentAccess& recent,
                 CounterBatch* batch) {
  if (recent.granule != access.address >> 4 || recent.site != access.site ||
      (access.owner != site_none && access.owner != recent.owner))
    return false;
  const std::uint64_t word = __atomic_load_n(recent.way, __ATOMIC_RELAXED);
  // A store to a clean line makes it dirty.
  if ((word | 1) != recent.word || (word & 1) < access.is_store || recent.phase != phase ||
      __atomic_load_n(recent.tag, __ATOMIC_RELAXED) != recent.owner)
    return false;
  count(batch, *recent.accesses, 1);
  return true;
}

// State of the simulation of one list.
struct List {
  List(std::uint32_t phase_of_all, CounterBatch* batch_of_thread)
      : phase(phase_of_all), batch(batch_of_thread) {}

  std::uint32_t phase;
  CounterBatch* batch;
  // Cached memory ranges of some objects' last misses, which the next misses often hit too.
  static constexpr unsigned cursors = 4;
  RangeCursor fetched[cursors]{};
  RangeCursor evicted[cursors]{};
  // Touches that all threads count in one table. They are counted at the end of the list, with a
  // single wait for other threads.
  unsigned reuse_count = 0;
  unsigned page_count = 0;
  ReuseTouch reuses[NF_PENDING_ACCESSES];
  PageTouch pages[NF_PENDING_ACCESSES];

  void finish() {
    if (page_count != 0) touch_pages(phase, pages, page_count);
    if (reuse_count != 0) count_reuses(phase, reuses, reuse_count, batch);
    if (batch != nullptr) batch->flush();
    page_count = reuse_count = 0;
  }
};
static_assert(max_reuse_touches >= NF_PENDING_ACCESSES);

void count_miss(const nf_pending_access& access, std::uint16_t owner, CounterRecord* counter,
                const sim::Outcome& outcome, List& list) {
  const std::uint32_t phase = list.phase;
  const std::uint64_t line = runtime.lines.ordinal(access.address);
  const bool store = access.is_store != 0;
  bool in_sequence = false;
  if (counter != nullptr) {
    count(list.batch, store ? counter->write_misses : counter->read_misses, 1);
    in_sequence = count_sequence(*counter, line, list.batch);
  }
  add(group_misses(line), std::uint64_t{1});
  count_in_range(list.fetched[owner % List::cursors], phase, owner, access.address,
                 store ? RangeKind::write_miss : RangeKind::read_miss);
  if (outcome.evicted.dirty()) {
    const std::uint16_t evicted = outcome.evicted.owner();
    count_write_back(phase, evicted, list.batch);
    count_line_in_range(list.evicted[evicted % List::cursors], phase, evicted,
                        outcome.evicted.line(), RangeKind::write_back);
  }
  if (!emulating()) return;
  emulate_line(phase, owner, charge_of(access.site, store, in_sequence));
  if (outcome.evicted.dirty()) {
    emulate_line(phase, outcome.evicted.owner(),
                 in_sequence ? Charge::write_back_stream : Charge::write_back);
  }
}

struct Place {
  bool whole;    // the address is in a whole page
  bool in_line;  // the address is in a sampled line; only then are the other fields set
  bool reused;   // reuse distances of the line are computed
  std::uint16_t* tag;
  std::uint64_t line;
  std::uint64_t set;
};

// Prefetches the data that simulate_access will read.
Place find_place(std::uint64_t address) {
  Place place{nf_whole(address) != 0, runtime.lines.sampled(address), false, nullptr, 0, 0};
  if (!place.in_line) return place;
  place.tag = runtime.shadow.entry(address);
  place.line = runtime.lines.ordinal(address);
  place.set = last_level_set(place.line);
  place.reused = reuse_samples(place.line);
  __builtin_prefetch(place.tag);
  const sim::LineWord* ways = &runtime.cache.most_recent(place.set);
  __builtin_prefetch(ways, 1);
  __builtin_prefetch(ways + 8, 1);
  if (place.reused) prefetch_reuse(place.line);
  return place;
}

void simulate_access(const nf_pending_access& access, const Place& place, List& list,
                     RecentAccess* recent) {
  const std::uint32_t phase = list.phase;
  const std::uint64_t address = access.address;
  const bool store = access.is_store != 0;
  if (place.whole) list.pages[list.page_count++] = {address, store};
  if (!place.in_line) return;
  std::uint16_t owner = access.owner;
  if (owner == site_none) owner = *place.tag;
  if (owner == site_none) owner = site_of_untagged(address);
  CounterRecord* counter = counter_of(counter_key(phase, owner, access.site + 1), access.site);
  if (counter != nullptr) count(list.batch, counter->accesses, 1);
  const std::uint64_t line = place.line;
  const sim::Outcome outcome = simulate(place.set, line, owner, store);
  if (!outcome.hit) count_miss(access, owner, counter, outcome, list);
  if (place.reused) {
    list.reuses[list.reuse_count++] = {line, owner, store};
    count_in_core({phase, owner, access.site, line, address, store, outcome.hit});
  }
  if (recent != nullptr && counter != nullptr && !place.reused && !place.whole) {
    // A signal handler that jumps away leaves either a free or a complete entry.
    recent->granule = 0;
    keep_order();
    recent->site = access.site;
    recent->owner = owner;
    recent->phase = static_cast<std::uint16_t>(phase);
    recent->word = sim::LineWord::make(line, owner, true).bits;
    recent->way = &runtime.cache.most_recent(place.set).bits;
    recent->tag = place.tag;
    recent->accesses = &counter->accesses;
    keep_order();
    recent->granule = address >> 4;
  }
}

void simulate_pending() {
  const std::uint32_t phase = nf_current_phase();
  RecentAccess* const recents = recents_of_core();
  List list(phase, batch_of_core());
  Place places[NF_PENDING_ACCESSES];
  const std::uint32_t first = nf_pending.done;
  std::uint32_t prepared = first;
  do {
    while (nf_pending.done < nf_pending.count) {
      // A signal handler may append at the same time.
      for (; prepared < nf_pending.count; ++prepared)
        places[prepared] = find_place(nf_pending.list[prepared].address);
      const Place& place = places[nf_pending.done];
      // Copied and counted as done first, because a handler may jump out of the simulation.
      const nf_pending_access access = nf_pending.list[nf_pending.done++];
      RecentAccess* const recent =
          recents == nullptr ? nullptr : &recents[recent_place(access.address >> 4, access.site)];
      if (recent == nullptr || !is_repeated(access, phase, *recent, list.batch))
        simulate_access(access, place, list, recent);
    }
    list.finish();
    // A signal handler may have appended since the last check.
  } while (nf_pending.done < nf_pending.count);
  sample_live_sometimes(static_cast<std::int32_t>(nf_pending.count - first));
  // In this order, accesses are never simulated twice if a signal handler jumps away.
  nf_pending.count = 0;
  keep_order();
  nf_pending.done = nf_pending.owned = 0;
}

// Simulates the list and empties it; returns false if it cannot be appended to.
bool begin_list() {
  if (!active()) {
    forget_accesses();
    return false;
  }
  Guard const guard;
  if (!guard) {
    add(runtime.header->dropped, std::uint64_t{1});
    nf_recent_page = 0;
    return false;
  }
  register_thread();
  simulate_pending();
  return true;
}

void append_line(std::uint64_t address, std::uint32_t site, bool store, std::uint16_t owner) {
  if (nf_pending.count >= NF_PENDING_ACCESSES && !begin_list()) return;
  const std::uint32_t place = __atomic_load_n(&nf_pending.count, __ATOMIC_RELAXED);
  // A signal handler may have filled the list again.
  if (place >= NF_PENDING_ACCESSES) return;
  const bool owner_may_change =
      owner == site_none && __libc_single_threaded == 0 && runtime.lines.sampled(address);
  if (owner_may_change) owner = nf_owner_at(address);
  // Before the entry is counted, because a signal handler may simulate the list.
  if (owner != site_none && nf_pending.owned == place) nf_pending.owned = place + 1;
  nf_append_access(place, address, site, owner, store ? 1 : 0);
  if (owner_may_change && owner == site_none) begin_list();
}

}  // namespace

void forget_accesses() {
  nf_pending.count = nf_pending.done = nf_pending.owned = NF_PENDING_ACCESSES;
  nf_recent_page = 0;  // the page's touch may be one of the dropped accesses
}

void access_line(std::uint64_t address, std::uint32_t site, bool store, std::uint16_t owner) {
  if (!nf_repeats_page(address, store ? 1 : 0)) append_line(address, site, store, owner);
}

void access_range(std::uint64_t address, std::uint64_t size, std::uint32_t site, bool store) {
  runtime.lines.for_each(address, size, [&](std::uint64_t line) {
    // The first touched byte determines the owner if objects share the line.
    access_line(line > address ? line : address, site, store);
  });
  for_each_whole_page_without_line(
      address, size, [&](std::uint64_t touched) { access_line(touched, site, store); });
}

[[gnu::noinline]] static void note_owners() {
  for (; nf_pending.owned < nf_pending.count; ++nf_pending.owned) {
    nf_pending_access& access = nf_pending.list[nf_pending.owned];
    if (access.owner == site_none) access.owner = *runtime.shadow.entry(access.address);
  }
}

}  // namespace nearfar::profile

extern "C" void nf_keep_owners(void) {
  if (nf_pending.owned < nf_pending.count) nearfar::profile::note_owners();
}

extern "C" int nf_settle_accesses(void) {
  using namespace nearfar::profile;
  return nf_pending.done == nf_pending.count || begin_list() ? 1 : 0;
}

extern "C" void nf_append_slowly(std::uint64_t address, std::uint32_t site,
                                 std::uint32_t is_store) {
  nearfar::profile::append_line(address, site, is_store != 0, nearfar::profile::site_none);
}

namespace nearfar::profile {

// Simulates the exiting thread's list and accounts for its time since the last miss. Other threads
// simulate their lists when they end (register_new_thread), or lose them.
__attribute__((destructor)) static void settle_at_exit() {
  nf_settle_accesses();
  settle_before_mark();
}

}  // namespace nearfar::profile

extern "C" void __nf_range(const void* address, size_t bytes, std::uint32_t site,
                           std::uint32_t is_store) {
  if (nearfar::profile::active()) {
    nearfar::profile::access_range(reinterpret_cast<std::uint64_t>(address), bytes, site,
                                   is_store != 0);
  }
}

#pragma GCC visibility push(default)
extern "C" {

// Children of a fork often end this way, without the destructors that would simulate their last
// accesses.
void _exit(int status) {
  nearfar::profile::need_real_functions();
  nf_settle_accesses();
  nearfar::profile::real._exit(status);
  __builtin_trap();
}

void _Exit(int status) noexcept { _exit(status); }

// Until now the listed accesses had no owners noted; from here on, another thread may change the
// owners.
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) noexcept {
  nearfar::profile::need_real_functions();
  nf_settle_accesses();
  return nearfar::profile::real.pthread_create(thread, attributes, start, argument);
}

int thrd_create(thrd_t* thread, thrd_start_t start, void* argument) {
  nearfar::profile::need_real_functions();
  nf_settle_accesses();
  return nearfar::profile::real.thrd_create(thread, start, argument);
}
}
#pragma GCC visibility pop
