#include "profile/runtime/runtime.hpp"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "profile/runtime/access.hpp"
#include "profile/runtime/core_caches.hpp"
#include "profile/runtime/emulation.hpp"
#include "profile/runtime/hooks.hpp"
#include "profile/runtime/live.hpp"
#include "profile/runtime/memory_events.hpp"
#include "profile/runtime/os.hpp"
#include "profile/runtime/pages.hpp"
#include "profile/runtime/pending_access.h"
#include "profile/runtime/ranges.hpp"
#include "profile/runtime/recent_call.hpp"
#include "profile/runtime/reuse.hpp"
#include "profile/runtime/run_folder.hpp"
#include "profile/runtime/threads_alive.h"

extern "C" void* __libc_stack_end;

namespace nearfar::profile {

__thread Thread this_thread __attribute__((tls_model("initial-exec"))) = {};
Runtime runtime;

namespace {

const std::uint32_t no_phase = 0;

// One of the first keys, because the C library needs no memory for these.
pthread_key_t at_thread_end;

void settle_at_end(void* value) {
  nf_settle_accesses();
  // In the child of a fork, the thread counts only from its first event there.
  if (value == &runtime && this_thread.id != 0) nf_thread_ends(&runtime.header->threads_alive);
  // Requests another round, after other destructors; the C library stops after a few rounds.
  pthread_setspecific(at_thread_end, &at_thread_end);
}

// Uses the slot of this process if it has marked itself, or else the program's slot.
void follow_slot() {
  __atomic_store_n(&nf_phase_word, &nf_control_slot(runtime.control, getpid(), 0)->phase,
                   __ATOMIC_RELAXED);
}

// Arguments and environment are above the first frame; 128 KiB are enough for nearly all
// environments.
constexpr std::uint64_t above_first_frame = 128 << 10;
// Used if the limit is "unlimited".
constexpr std::uint64_t max_stack = 64ull << 20;

std::uint64_t stack_limit() {
  rlimit limit{};
  const bool known = getrlimit(RLIMIT_STACK, &limit) == 0;
  return known && limit.rlim_cur < max_stack ? limit.rlim_cur : max_stack;
}

bool reserve_cache() {
  const unsigned rate_log2 = runtime.lines.rate_log2();
  const auto geometry = sim::CacheGeometry::of(Bytes{runtime.control->cache_bytes},
                                               runtime.control->cache_ways, rate_log2);
  void* ways = reserve_hot_memory(geometry.lines() * sizeof(sim::LineWord));
  void* locks = reserve_hot_memory(geometry.sets * sizeof(std::uint32_t));
  if (ways == nullptr || locks == nullptr) return false;
  runtime.cache = sim::LruCache(geometry, static_cast<sim::LineWord*>(ways));
  runtime.set_locks = static_cast<std::uint32_t*>(locks);
  runtime.header->cache_sets = geometry.sets;
  runtime.header->cache_ways = geometry.ways;
  return true;
}

void add_reserved_sites() {
  const ObjectKind kinds[first_free_site] = {ObjectKind::unknown, ObjectKind::heap,
                                             ObjectKind::unknown, ObjectKind::stack};
  for (std::uint32_t site = 0; site < first_free_site; ++site) {
    // Other keys are hashes, so a small number does not collide with them.
    runtime.sites.find_or_add(site + 1, thread_id(),
                              [&](SiteRecord& record) { record.kind = kinds[site]; });
  }
}

void attach_tables() {
  ProcessHeader& header = *runtime.header;
  runtime.strings.attach(header);
  runtime.sites.attach(header, header.sites);
  runtime.instructions.attach(header, header.instructions);
  runtime.counters.attach(header, header.counters);
  runtime.curves.attach(header, header.curves);
  runtime.pages.attach(header, header.pages);
  runtime.events.attach(header, header.events);
  runtime.ranges.attach(header, header.ranges);
}

bool give_up(const char* reason) {
  nf_control& control = *runtime.control;
  if (__atomic_fetch_add(&control.lost_processes, 1, __ATOMIC_RELAXED) == 0 && *reason != '\0') {
    snprintf(control.message, sizeof control.message, "%s", reason);
  }
  return false;
}

bool create_runtime(unsigned rate_log2) {
  runtime.lines = sim::SampledLines(rate_log2);
  char message[sizeof runtime.control->message] = "";
  runtime.header = create_process_file(runtime.control->memory_bytes, message, sizeof message);
  if (runtime.header == nullptr) return give_up(message);
  runtime.header->rate_log2 = rate_log2;
  if (!runtime.shadow.reserve(runtime.lines) || !runtime.regions.reserve() || !reserve_cache() ||
      !reserve_reuse() || !reserve_pages(true) || !reserve_core_caches() ||
      !reserve_recent_calls()) {
    return give_up("address space for the tables cannot be reserved (ulimit -v?)");
  }
  nf_owners = runtime.shadow.entry(0);
  nf_owners_inner_log2 = runtime.lines.inner_log2();
  nf_line_mask = NF_FILTER_MASK(rate_log2);
  runtime.header->counts_flushes = 1;
  attach_tables();
  add_reserved_sites();
  return true;
}

template <typename T>
void copy_used(ProcessHeader& to, Table& table, const ProcessHeader& from, const Table& source) {
  memcpy(records<T>(to, table), reinterpret_cast<const char*>(&from) + source.offset,
         source.used * sizeof(T));
  table.used = source.used;
}

// The child of a fork continues in a file of its own, mapped at the address of its parent's file.
// It inherits the parent's allocations but counts its own accesses.
void continue_in_child() {
  if (!active()) return;
  this_thread.inside = 0;
  runtime.strings.unlock();
  runtime.regions.unlock();
  unlock_reuse();
  continue_pages_in_child();
  unlock_ranges();
  memset(runtime.set_locks, 0, runtime.cache.geometry().sets * sizeof(std::uint32_t));
  char message[sizeof runtime.control->message] = "";
  const ProcessHeader& old = *runtime.header;
  ProcessHeader* child =
      create_process_file(runtime.control->memory_bytes, message, sizeof message);
  if (child == nullptr) {
    give_up(message);
    this_thread.id = 0;
    runtime.active = false;
    runtime.fast_bytes = 0;
    return;
  }
  child->rate_log2 = old.rate_log2;
  child->forked = 1;
  child->compiler = old.compiler;
  child->cache_sets = old.cache_sets;
  child->cache_ways = old.cache_ways;
  child->private_bytes = old.private_bytes;
  child->translations = old.translations;
  child->translations_known = old.translations_known;
  child->counts_flushes = old.counts_flushes;
  child->instrumented_modules = old.instrumented_modules;
  child->live_bytes = old.live_bytes;
  child->peak_bytes = old.live_bytes;
  copy_used<char>(*child, child->strings, old, old.strings);
  copy_used<ModuleRecord>(*child, child->modules, old, old.modules);
  copy_used<SiteRecord>(*child, child->sites, old, old.sites);
  copy_used<PositionRecord>(*child, child->positions, old, old.positions);
  auto* sites = records<SiteRecord>(*child, child->sites);
  for (std::uint32_t i = 0; i < child->sites.used; ++i) {
    sites[i].allocations = 0;
    sites[i].allocated_bytes = 0;
    sites[i].peak_bytes = sites[i].live_bytes;
    sites[i].bytes_at_peak = sites[i].live_bytes;
  }
  const std::uint64_t size = process_file_size(runtime.control->memory_bytes);
  syscall(SYS_mremap, child, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, runtime.header);
  attach_tables();
  restart_live();
  restart_emulation();
  const std::uint32_t tag = this_thread.tag;
  this_thread = {};
  this_thread.tag = tag;
  forget_accesses();
}

}  // namespace

void activate(unsigned rate_log2) {
  static bool tried = false;
  if (tried) return;
  tried = true;
  char path[path_size];
  if (!run_folder_file(path, "control")) return;
  runtime.control = nf_control_open(path);
  if (runtime.control == nullptr) return;
  follow_slot();
  nf_counting_word = &runtime.control->counting;
  // A run that only marks phases (nearfar run, crash) simulates no cache and needs no counts.
  if (runtime.control->cache_bytes == 0 || runtime.control->cache_ways == 0) return;
  if (!create_runtime(rate_log2)) return;
  map_modules();
  begin_emulation();
  const auto top = reinterpret_cast<std::uint64_t>(__libc_stack_end) + above_first_frame;
  runtime.regions.fill({top - stack_limit(), top, site_stack, false});
  pthread_key_create(&at_thread_end, settle_at_end);
  pthread_atfork(nullptr, nullptr, continue_in_child);
  __atomic_store_n(&runtime.active, true, __ATOMIC_RELEASE);
  __atomic_store_n(&runtime.fast_bytes, fast_bytes_at(rate_log2), __ATOMIC_RELEASE);
}

void register_new_thread() {
  this_thread.id = static_cast<std::uint32_t>(gettid());
  pthread_setspecific(at_thread_end, &runtime);
  nf_thread_begins(&runtime.header->threads_alive, &runtime.header->threads);
  if (gettid() == getpid()) return;
  // glibc puts a thread's descriptor at the top of its stack. Only free addresses are added,
  // because the stack may be smaller.
  constexpr std::uint64_t usual_stack = 8ull << 20;
  constexpr std::uint64_t descriptor = 4096;
  const std::uint64_t top = reinterpret_cast<std::uint64_t>(pthread_self()) + descriptor;
  const std::uint64_t limit = stack_limit();
  runtime.regions.fill({top - (limit < usual_stack ? limit : usual_stack), top, site_stack, false});
}

}  // namespace nearfar::profile

const std::uint16_t* nf_owners = nullptr;
unsigned nf_owners_inner_log2 = 0;
std::uint64_t nf_line_mask = 0;
const std::uint32_t* nf_phase_word = &nearfar::profile::no_phase;
const std::uint32_t* nf_counting_word = &nearfar::profile::no_phase;

#pragma GCC visibility push(default)
extern "C" {

void nearfar_phase_begin(const char* name) {
  using namespace nearfar::profile;
  if (runtime.control == nullptr) return;
  nf_settle_accesses();
  Guard const guard;
  settle_before_mark();
  nf_control_begin(runtime.control, getpid(), name);
  follow_slot();
  begin_after_mark(*nf_phase_word);
}

const char* nearfar_tag_set(const char* name) {
  using namespace nearfar::profile;
  if (!active()) return nullptr;
  Guard const guard;
  if (!guard) return nullptr;
  register_thread();
  const std::uint32_t before = this_thread.tag;
  this_thread.tag = runtime.strings.intern(name);
  update_whole_calls();
  return before == 0 ? nullptr : runtime.strings.text(before);
}

void nearfar_arena(const char* name, const void* begin, unsigned long bytes) {
  using namespace nearfar::profile;
  const auto address = reinterpret_cast<std::uint64_t>(begin);
  if (!active() || bytes == 0 || !runtime.lines.any_in(address, bytes)) return;
  nf_settle_accesses();
  range_named(address, bytes, runtime.strings.intern(name));
}

void nearfar_phase_end(const char* name, double operations) {
  using namespace nearfar::profile;
  if (runtime.control == nullptr) return;
  nf_settle_accesses();
  Guard const guard;
  settle_before_mark();
  nf_control_end(runtime.control, getpid(), name, operations);
  follow_slot();
  begin_after_mark(*nf_phase_word);
}
}
#pragma GCC visibility pop
