// `nearfar emulate`: makes misses of far objects take as long as a far memory would, by delays.
//
// The arithmetic is that of the model `inversion` (nearfar/predict): the time of a batch of misses
// gives their overlap, and the far memory's costs at that overlap give their time there. The time
// of tracing counts as part of the delay. The verb writes the costs into the run folder's file
// `emulation` (nearfar/emulate/file.py has the same layout); without that file nothing happens.
#pragma once

#include <cstdint>

namespace nearfar::profile {

// How a line is charged; the order is that of nearfar/predict/traffic.py.
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

// ns that a line adds to each term of a core's time, see nearfar/predict/core_time.py.
struct LineCost {
  double loads;
  double stream;
  double buffers;
  double reads;
  double all_lines;
};

inline constexpr unsigned most_phases = 256;

// All sizes in bytes, times in ns. After it: near costs [factors][charges], far costs likewise,
// then `near_sites` keys of the sites that stay near, ascending; all other sites are far.
struct EmulationFile {
  char magic[8];
  std::uint32_t version;
  std::uint32_t factors;  // degrees of overlap, rising: costs fall
  std::uint32_t batch;    // sampled misses of one thread before it checks whether to settle
  std::uint32_t near_sites;
  // Factor by which everything, computation included, is slowed beyond the far memory: where
  // tracing takes longer than the far memory adds, this leaves room for delays. 1: no slow motion.
  double slow_motion;
  std::uint64_t least_ns;  // shortest batch, so that the cost of settling stays small
  // Summed by every thread as it settles.
  std::uint64_t batches;
  std::uint64_t delayed_ns;   // waited
  double share[most_phases];  // plain time of a phase over its traced time, 0..1
  // Time waited, by phase: after a wait caches hold less, so tracing takes longer than without
  // waits.
  std::uint64_t waited_ns[most_phases];
  // Time by which tracing exceeded the far memory, by phase.
  std::uint64_t unpaid_ns[most_phases];
};
inline constexpr std::uint32_t emulation_version = 5;

// A shorter batch may grow up to this many batches: its lines cost next to nothing.
inline constexpr std::uint32_t most_together = 64;

// Whether to settle a thread's `lines_seen` sampled misses, a multiple of `batch`, which took
// `took_ns`.
inline bool is_due(const EmulationFile& file, std::uint32_t lines_seen, std::uint64_t took_ns) {
  return took_ns >= file.least_ns || lines_seen >= most_together * file.batch;
}

struct Emulation {
  EmulationFile* file;
  const LineCost* costs[2];  // near, far
  const std::uint64_t* near_keys;
};
extern Emulation emulation;

inline bool emulating() { return emulation.file != nullptr; }

// Called once, when the run time is made; does nothing where the run asks for no emulation.
void begin_emulation();
// In a fork's child: its clock begins anew.
void restart_emulation();

// Around a mark: the calling thread's time so far is the phase's that ends, what comes the next's.
void settle_before_mark();
void begin_after_mark(std::uint32_t phase);

// A sampled line was fetched for `owner`, or written back; may wait.
void emulate_line(std::uint32_t phase, std::uint16_t owner, Charge charge);

}  // namespace nearfar::profile
