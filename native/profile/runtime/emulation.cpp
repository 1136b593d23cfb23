#include "profile/runtime/emulation.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "profile/runtime/core_time.hpp"
#include "profile/runtime/event_count.hpp"
#include "profile/runtime/os.hpp"
#include "profile/runtime/run_folder.hpp"
#include "profile/runtime/runtime.hpp"

namespace nearfar::profile {

Emulation emulation;

namespace {

// State of a thread's current batch. Thread-local data must be plain data here.
struct Batch {
  std::uint64_t began_ns;  // thread's CPU time at the start of the batch; 0: not started
  double debt_ns;          // delay still to wait; negative: tracing took longer
  double carried_ns;       // shortfall of near time in the last batch, see even_out
  std::uint32_t phase;
  std::uint32_t lines_seen;
  std::uint32_t near[charges];
  std::uint32_t far[charges];
};
__thread Batch batch __attribute__((tls_model("initial-exec"))) = {};

// Per site: 0 unknown, 1 near, 2 far. Racing threads write the same value.
std::uint8_t side_of_site[1u << 16];

std::uint64_t cpu_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

bool is_near_key(std::uint64_t key) {
  std::uint32_t begin = 0;
  std::uint32_t end = emulation.file->near_sites;
  while (begin < end) {
    const std::uint32_t middle = begin + (end - begin) / 2;
    if (emulation.near_keys[middle] < key) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin < emulation.file->near_sites && emulation.near_keys[begin] == key;
}

bool is_far(std::uint16_t owner) {
  if (emulation.file->near_sites == 0) return true;
  std::uint8_t& side = side_of_site[owner];
  if (side == 0) {
    const bool known = owner < runtime.sites.used();
    side = known && is_near_key(runtime.sites[owner].key) ? 1 : 2;
  }
  return side == 2;
}

std::uint64_t wait_until(std::uint64_t due_ns) {
  std::uint64_t now = cpu_ns();
  while (now < due_ns) {
    for (int i = 0; i < 16; ++i) __builtin_ia32_pause();
    now = cpu_ns();
  }
  return now;
}

// Credit and shortfall of a phase are not carried over to the next phase.
void end_phase() {
  if (batch.debt_ns < 0.0) {
    add(emulation.file->unpaid_ns[batch.phase % max_phases],
        static_cast<std::uint64_t>(-batch.debt_ns));
  }
  batch.debt_ns = 0.0;
  batch.carried_ns = 0.0;
}

void settle(std::uint64_t now) {
  EmulationFile& file = *emulation.file;
  const auto rate = static_cast<double>(1ull << runtime.lines.rate_log2());
  double lines[charges];
  double moved[charges];
  for (unsigned charge = 0; charge < charges; ++charge) {
    moved[charge] = rate * batch.far[charge];
    lines[charge] = rate * batch.near[charge] + moved[charge];
  }
  const auto traced_ns = static_cast<double>(now - batch.began_ns);
  const double share = file.share[batch.phase % max_phases];
  const double min_ns = min_time_ns(lines, emulation.costs[0], file.factors);
  const double near_ns = even_out(traced_ns * share, min_ns, batch.carried_ns);
  const double far_ns =
      far_time_ns(near_ns, lines, moved, emulation.costs[0], emulation.costs[1], file.factors);
  batch.debt_ns += file.slow_motion * far_ns - traced_ns;
  // Before the wait, because a signal handler may jump out of it.
  batch.began_ns = now;
  batch.lines_seen = 0;
  memset(batch.near, 0, sizeof batch.near);
  memset(batch.far, 0, sizeof batch.far);
  add(file.batches, std::uint64_t{1});
  if (batch.debt_ns <= 0.0) return;
  const std::uint64_t end = wait_until(now + static_cast<std::uint64_t>(batch.debt_ns));
  // A wait may be slightly too long; the excess is subtracted from the next one.
  batch.debt_ns -= static_cast<double>(end - now);
  batch.began_ns = end;
  add(file.delayed_ns, end - now);
  add(file.waited_ns[batch.phase % max_phases], end - now);
}

bool is_valid(const EmulationFile& file, std::uint64_t size) {
  if (memcmp(file.magic, "NFEMUL\0", sizeof file.magic) != 0 || file.version != emulation_version ||
      file.factors == 0 || file.batch == 0 || !(file.slow_motion >= 1.0)) {
    return false;
  }
  return size == sizeof file + 2ull * file.factors * charges * sizeof(LineCost) +
                     file.near_sites * sizeof(std::uint64_t);
}

}  // namespace

void begin_emulation() {
  char path[path_size];
  if (!run_folder_file(path, "emulation")) return;
  const int handle = open(path, O_RDWR | O_CLOEXEC);
  if (handle < 0) return;
  struct stat status {};
  void* memory = fstat(handle, &status) == 0
                     ? map_memory(static_cast<std::uint64_t>(status.st_size), MAP_SHARED, handle)
                     : nullptr;
  close(handle);
  auto* const file = static_cast<EmulationFile*>(memory);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (file == nullptr || size < sizeof *file || !is_valid(*file, size)) return;
  const auto* const costs = reinterpret_cast<const LineCost*>(file + 1);
  const std::uint64_t costs_per_memory = std::uint64_t{file->factors} * charges;
  emulation.costs[0] = costs;
  emulation.costs[1] = costs + costs_per_memory;
  emulation.near_keys = reinterpret_cast<const std::uint64_t*>(costs + 2 * costs_per_memory);
  emulation.file = file;
}

void restart_emulation() { batch = {}; }

void settle_before_mark() {
  if (!emulating() || batch.began_ns == 0) return;
  settle(cpu_ns());
  end_phase();
}

void begin_after_mark(std::uint32_t phase) {
  if (!emulating()) return;
  batch.began_ns = cpu_ns();
  batch.phase = phase;
}

void emulate_line(std::uint32_t phase, std::uint16_t owner, Charge charge) {
  if (batch.began_ns == 0) {
    batch.began_ns = cpu_ns();
    batch.phase = phase;
  }
  if (phase != batch.phase) {
    settle(cpu_ns());
    end_phase();
    batch.phase = phase;
  }
  ++(is_far(owner) ? batch.far : batch.near)[static_cast<unsigned>(charge)];
  const EmulationFile& file = *emulation.file;
  if (++batch.lines_seen % file.batch != 0) return;
  const std::uint64_t now = cpu_ns();
  if (is_due(file, batch.lines_seen, now - batch.began_ns)) settle(now);
}

}  // namespace nearfar::profile
