#include "run/fork_copies.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run/addresses.hpp"
#include "run/extents.hpp"
#include "run/memories.hpp"

namespace nearfar::run {

namespace {

// Pipe that the child closes once it has its copies. Several threads may fork at the same time.
__thread int copied_pipe[2] __attribute__((tls_model("initial-exec"))) = {-1, -1};

// Copies an extent that the kernel shares between parent and child into the child's own memory.
void copy_to_child(nf_run_extent& extent) {
  constexpr int out_of_memory = 127;  // without a copy the child would overwrite the parent's data
  void* target = claim(extent.target, extent.bytes, huge_page, Purpose::extent, Backing::nothing);
  if (target == nullptr) _exit(out_of_memory);
  const auto begin = reinterpret_cast<std::uint64_t>(target);
  if (!place_in_memory(begin, extent.bytes, extent.memory)) {
    if (!back_with_memory(begin, extent.bytes)) _exit(out_of_memory);
    extent.memory = table->targets[0].memory[0];
    add(state.fallback_bytes[extent.target], extent.bytes);
  }
  memcpy(target, reinterpret_cast<void*>(extent.begin), extent.bytes);
  syscall(SYS_mremap, target, extent.bytes, extent.bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
          extent.begin);
}

bool is_shared(const nf_run_extent& extent) { return extent.bytes != 0 && is_file(extent.memory); }

bool any_shared() {
  for (std::uint32_t i = 0; i < state.extent_count; ++i) {
    if (is_shared(state.extents[i])) return true;
  }
  return false;
}

}  // namespace

void places_before_fork() {
  copied_pipe[0] = copied_pipe[1] = -1;
  if (active && any_shared() && pipe2(copied_pipe, O_CLOEXEC) != 0) {
    copied_pipe[0] = copied_pipe[1] = -1;
  }
}

void places_in_parent() {
  if (copied_pipe[0] < 0) return;
  close(copied_pipe[1]);
  char nothing = 0;
  while (read(copied_pipe[0], &nothing, 1) < 0 && errno == EINTR) {
  }
  close(copied_pipe[0]);
}

void places_in_child() {
  extents_in_child();
  memories_in_child();
  if (!active) return;
  // Detaches even if nothing is shared now: otherwise the next mappings of both processes would use
  // the same offsets.
  const Inherited inherited = detach_files();
  for (std::uint32_t i = 0; i < state.extent_count; ++i) {
    if (is_shared(state.extents[i])) copy_to_child(state.extents[i]);
  }
  close_inherited(inherited);
  if (copied_pipe[0] >= 0) {
    close(copied_pipe[0]);
    close(copied_pipe[1]);
  }
}

}  // namespace nearfar::run
