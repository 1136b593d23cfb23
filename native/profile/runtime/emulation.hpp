// `nearfar emulate`: delays misses of far objects by what a far memory would add.
//
// The arithmetic is that of the model `inversion` (nearfar/predict): the time of a batch of misses
// determines their overlap, and the far memory's costs at that overlap determine their time there.
// Tracing time counts as part of the delay. The verb writes the costs into the run folder's file
// `emulation` (nearfar/emulate/cost_file.py has the same layout); without that file nothing
// happens.
#pragma once

#include <cstdint>

namespace nearfar::profile {

// Kinds of line costs, in the order of nearfar/predict/traffic.py.
enum class Charge : std::uint8_t {
  chase,
  independent,
  stream,
  store,
  store_stream,
  write_back,
  write_back_stream
};
inline constexpr unsigned charges = 7;

// Time in ns that a line adds to each term of a core's time (nearfar/predict/core_time.py).
struct LineCost {
  double loads;
  double stream;
  double buffers;
  double reads;
  double all_lines;
};

inline constexpr unsigned max_phases = 256;

// Sizes in bytes, times in ns. It is followed by near costs [factors][charges], far costs
// [factors][charges], and `near_sites` ascending keys of the sites that stay near; all other sites
// are far.
struct EmulationFile {
  char magic[8];
  std::uint32_t version;
  std::uint32_t factors;  // degrees of overlap, ascending: costs fall
  std::uint32_t batch;    // number of sampled misses after which a thread checks whether to settle
  std::uint32_t near_sites;
  // Factor of slow motion: the whole program is slowed by it, beyond the far memory. This leaves
  // time for delays if tracing takes longer than the far memory adds. 1: no slow motion.
  double slow_motion;
  std::uint64_t min_ns;  // shortest batch, which limits the cost of settling
  // Sums of all threads, updated when they settle.
  std::uint64_t batches;
  std::uint64_t delayed_ns;  // time waited
  double share[max_phases];  // near time of a phase over its traced time, 0..1
  // Time waited, by phase. Caches hold less after a wait, so tracing then takes longer.
  std::uint64_t waited_ns[max_phases];
  // Time, by phase, by which tracing took longer than the far memory adds.
  std::uint64_t unpaid_ns[max_phases];
};
inline constexpr std::uint32_t emulation_version = 5;

// Maximum size of a short batch, in batches: it may grow to this size, because its lines cost
// hardly anything.
inline constexpr std::uint32_t max_merged_batches = 64;

// Whether to settle the `lines_seen` sampled misses of a thread, a multiple of `batch`, which took
// `took_ns`.
inline bool is_due(const EmulationFile& file, std::uint32_t lines_seen, std::uint64_t took_ns) {
  return took_ns >= file.min_ns || lines_seen >= max_merged_batches * file.batch;
}

struct Emulation {
  EmulationFile* file;
  const LineCost* costs[2];  // near, far
  const std::uint64_t* near_keys;
};
extern Emulation emulation;

inline bool emulating() { return emulation.file != nullptr; }

// Starts emulation if the run requests it; called once.
void begin_emulation();
// Restarts the clock in the child of a fork.
void restart_emulation();

// Attribute the calling thread's time to the phases before and after a mark.
void settle_before_mark();
void begin_after_mark(std::uint32_t phase);

// Handles a fetch of a sampled line for `owner`, or its write-back; may wait.
void emulate_line(std::uint32_t phase, std::uint16_t owner, Charge charge);

}  // namespace nearfar::profile
