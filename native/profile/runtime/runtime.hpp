// Global state of the runtime, and its stages: inert, active, and continued in the child of a fork.
#pragma once

#include <atomic>
#include <cstdint>

#include "profile/runtime/control.h"
#include "profile/runtime/dense_table.hpp"
#include "profile/runtime/process_file.hpp"
#include "profile/runtime/regions.hpp"
#include "profile/runtime/shadow.hpp"
#include "profile/runtime/strings.hpp"
#include "profile/runtime/thread.hpp"
#include "sim/cache/lru_cache.hpp"
#include "sim/cache/sampled_lines.hpp"

// Words of the control page; they point to zeros while the runtime is inert.
extern const std::uint32_t* nf_phase_word;
extern const std::uint32_t* nf_counting_word;

namespace nearfar::profile {

struct Runtime {
  // True if `nearfar profile` runs this program and all resources could be created.
  bool active;
  // malloc and free have a fast path for blocks below this size. 0 unless the runtime is active at
  // the default rate and with glibc's block layout.
  std::uint64_t fast_bytes;
  nf_control* control;
  ProcessHeader* header;
  sim::SampledLines lines;
  sim::LruCache cache;
  std::uint32_t* set_locks;
  Shadow shadow;
  Regions regions;
  Strings strings;
  DenseTable<SiteRecord> sites;
  DenseTable<InstructionRecord> instructions;
  DenseTable<CounterRecord> counters;
  DenseTable<CurveRecord> curves;
  DenseTable<PageRecord> pages;
  DenseTable<EventRecord> events;
  DenseTable<RangeRecord> ranges;
};

extern Runtime runtime;

inline std::uint32_t nf_current_phase() {
  // Phase 0 lasts until counting begins.
  return __atomic_load_n(nf_counting_word, __ATOMIC_RELAXED) != 0
             ? __atomic_load_n(nf_phase_word, __ATOMIC_RELAXED) & 255
             : 0;
}

// Returns the set of a sampled line in the simulated cache, by the line's ordinal.
inline std::uint64_t last_level_set(std::uint64_t line) {
  return runtime.cache.physical_set_of(runtime.lines.index(line), runtime.lines.lines_per_page());
}

// The thread's count of misses of the group of lines that a sampled line, by its ordinal, is in.
inline std::uint64_t& group_misses(std::uint64_t line) {
  const std::uint64_t group = (line * 0x9E3779B97F4A7C15ull) >> 56;
  return runtime.header->group_misses[this_thread.id % group_rows][group];
}

inline bool active() { return __atomic_load_n(&runtime.active, __ATOMIC_RELAXED); }

// Activates the runtime if a run requests it; called by the first module that registers.
void activate(unsigned rate_log2);

// Registers a thread and its stack at the thread's first event.
void register_new_thread();
inline void register_thread() {
  if (this_thread.id == 0) register_new_thread();
}

}  // namespace nearfar::profile
