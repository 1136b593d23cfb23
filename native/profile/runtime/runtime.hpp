// The one state of the run time, and its life: inert, active, continued in a fork's child.
#pragma once

#include <atomic>
#include <cstdint>

#include "profile/runtime/control.h"
#include "profile/runtime/dense_table.hpp"
#include "profile/runtime/process_file.hpp"
#include "profile/runtime/recent_access.h"
#include "profile/runtime/regions.hpp"
#include "profile/runtime/shadow.hpp"
#include "profile/runtime/strings.hpp"
#include "profile/runtime/thread.hpp"
#include "sim/cache/lru_cache.hpp"
#include "sim/cache/sampled_lines.hpp"

namespace nearfar::profile {

struct Runtime {
  // False unless `nearfar profile` runs this program and everything could be made.
  bool active;
  // Active at the default rate with glibc's blocks: malloc and free have a fast path.
  bool usual;
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
  DenseTable<EventRecord> events;
};

extern Runtime runtime;

// The simulated cache's set of a sampled line, by its ordinal.
inline std::uint64_t last_level_set(std::uint64_t line) {
  return runtime.cache.physical_set_of(runtime.lines.index(line), runtime.lines.lines_per_page());
}

inline bool active() { return __atomic_load_n(&runtime.active, __ATOMIC_RELAXED); }

// Makes the run time active if a run asks for it; called by the first module that registers.
void activate(unsigned rate_log2);

// A thread's first event: numbers it and says where its stack is.
void meet_new_thread();
inline void meet_thread() {
  if (this_thread.id == 0) meet_new_thread();
}

}  // namespace nearfar::profile
