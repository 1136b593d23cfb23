#include "profile/runtime/control.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "profile/runtime/locks.hpp"
#include "profile/runtime/os.hpp"

namespace {

using nearfar::profile::clock_ns;
using nearfar::profile::Lock;
using nearfar::profile::Shared;

std::uint64_t cpu_ns_of(std::int32_t pid) {
  clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
  if (pid != getpid() && clock_getcpuclockid(pid, &clock) != 0) return 0;
  return clock_ns(clock);
}

nf_control* map_control(int file) {
  void* memory = nearfar::profile::map_memory(sizeof(nf_control), MAP_SHARED, file);
  const int error = errno;
  close(file);
  errno = error;
  return static_cast<nf_control*>(memory);
}

std::uint32_t phase_named(nf_control& control, const char* name) {
  char truncated[NF_PHASE_NAME] = {};
  strncpy(truncated, name, sizeof truncated - 1);
  for (std::uint32_t phase = NF_PHASE_REST; phase < control.phase_count; ++phase) {
    if (strcmp(control.phases[phase].name, truncated) == 0) return phase;
  }
  if (control.phase_count >= NF_PHASE_OVERFLOW) return NF_PHASE_OVERFLOW;
  memcpy(control.phases[control.phase_count].name, truncated, sizeof truncated);
  return control.phase_count++;
}

// Adds the time since the slot's last mark to its current phase.
void settle(nf_control& control, nf_slot& slot) {
  const std::uint64_t cpu = cpu_ns_of(slot.pid);
  const std::uint64_t wall = clock_ns(CLOCK_MONOTONIC);
  nf_phase& phase =
      control.phases[control.counting != 0 ? slot.phase % NF_PHASES : NF_PHASE_BEFORE];
  if (cpu > slot.last_cpu_ns) phase.cpu_ns += cpu - slot.last_cpu_ns;
  if (wall > slot.last_wall_ns) phase.wall_ns += wall - slot.last_wall_ns;
  slot.last_cpu_ns = cpu;
  slot.last_wall_ns = wall;
}

void enter(nf_control& control, nf_slot& slot, std::uint32_t phase) {
  settle(control, slot);
  __atomic_store_n(&slot.phase, phase, __ATOMIC_RELAXED);
}

nf_slot* slot_of(nf_control& control, std::int32_t pid, bool claim) {
  if (pid == 0 || pid == control.target_pid) return &control.slots[0];
  for (int i = 1; i < NF_SLOTS; ++i) {
    nf_slot& slot = control.slots[i];
    if (slot.pid == pid) return &slot;
    if (slot.pid == 0 && claim) {
      slot = {pid, NF_PHASE_REST, 0, clock_ns(CLOCK_MONOTONIC)};
      return &slot;
    }
    if (slot.pid == 0) break;
  }
  if (!claim) return &control.slots[0];
  ++control.lost_marks;
  return nullptr;
}

std::uint32_t self() { return static_cast<std::uint32_t>(gettid()); }

}  // namespace

nf_control* nf_control_create(const char* path) {
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return nullptr;
  // Allocates the space now; otherwise a full disk would raise SIGBUS in the program later.
  const int error = posix_fallocate(file, 0, sizeof(nf_control));
  if (error != 0) {
    close(file);
    errno = error;
    return nullptr;
  }
  nf_control* control = map_control(file);
  if (control == nullptr) return nullptr;
  control->version = NF_CONTROL_VERSION;
  control->counting = 1;
  control->phase_count = NF_PHASE_REST + 1;
  strcpy(control->phases[NF_PHASE_REST].name, "-");
  strcpy(control->phases[NF_PHASE_OVERFLOW].name, "other phases");
  control->slots[0].phase = NF_PHASE_REST;
  memcpy(control->magic, NF_CONTROL_MAGIC, sizeof control->magic);
  return control;
}

nf_control* nf_control_open(const char* path) {
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat status {};
  if (fstat(file, &status) != 0 || status.st_size < static_cast<off_t>(sizeof(nf_control))) {
    close(file);
    errno = EINVAL;
    return nullptr;
  }
  nf_control* control = map_control(file);
  if (control == nullptr) return nullptr;
  if (memcmp(control->magic, NF_CONTROL_MAGIC, sizeof control->magic) != 0 ||
      control->version != NF_CONTROL_VERSION) {
    nf_control_close(control);
    errno = EINVAL;
    return nullptr;
  }
  return control;
}

void nf_control_close(nf_control* control) {
  nearfar::profile::release_memory(control, sizeof *control);
}

void nf_control_start(nf_control* control, std::int32_t pid) {
  Lock const lock(control->lock, self(), Shared::by_processes);
  control->target_pid = pid;
  control->start_wall_ns = clock_ns(CLOCK_MONOTONIC);
  nf_slot& slot = control->slots[0];
  slot.pid = pid;
  slot.last_cpu_ns = 0;
  slot.last_wall_ns = control->start_wall_ns;
}

void nf_control_count(nf_control* control) {
  Lock const lock(control->lock, self(), Shared::by_processes);
  for (nf_slot& slot : control->slots) {
    if (slot.pid != 0) settle(*control, slot);
  }
  __atomic_store_n(&control->counting, 1, __ATOMIC_RELAXED);
}

int nf_control_begin(nf_control* control, std::int32_t pid, const char* name) {
  Lock const lock(control->lock, self(), Shared::by_processes);
  nf_slot* slot = slot_of(*control, pid, true);
  if (slot == nullptr) return ENOSPC;
  const std::uint32_t phase = phase_named(*control, name);
  enter(*control, *slot, phase);
  if (control->counting != 0) ++control->phases[phase].entries;
  return 0;
}

int nf_control_end(nf_control* control, std::int32_t pid, const char* name, double operations) {
  Lock const lock(control->lock, self(), Shared::by_processes);
  nf_slot* slot = slot_of(*control, pid, true);
  if (slot == nullptr) return ENOSPC;
  const std::uint32_t phase = phase_named(*control, name);
  if (slot->phase == phase) enter(*control, *slot, NF_PHASE_REST);
  if (control->counting != 0) control->phases[phase].operations += operations;
  return 0;
}

nf_slot* nf_control_slot(nf_control* control, std::int32_t pid, int claim) {
  Lock const lock(control->lock, self(), Shared::by_processes);
  return slot_of(*control, pid, claim != 0);
}
