// libnearfar_guest.so: preloaded into a plain build that runs under QEMU or with the processor's
// counters, it reports the program's allocations, mappings and loaded files. It shares the hooks
// with the profiling library and implements the functions they call. In other programs, such as
// exec'd children, it does nothing.
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <xmmintrin.h>

#include "profile/abi.h"
#include "profile/qemu/guest/python_blocks.hpp"
#include "profile/qemu/guest/send.hpp"
#include "profile/runtime/hooks.hpp"
#include "profile/runtime/interpreter.hpp"
#include "profile/runtime/memory_events.hpp"
#include "profile/runtime/os.hpp"
#include "profile/runtime/run_folder.hpp"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/usual_blocks.hpp"

extern "C" void* __libc_stack_end;

namespace nearfar::profile {

__thread Thread this_thread __attribute__((tls_model("initial-exec"))) = {};
Runtime runtime;
nf_ring* ring = nullptr;

namespace {

// Arguments and environment are above the first frame; 128 KiB are enough for nearly all
// environments.
constexpr std::uint64_t above_first_frame = 128 << 10;
// Used if the limit is "unlimited".
constexpr std::uint64_t max_stack = 64ull << 20;
// QEMU keeps some 6 bytes of every KiB that is reserved. Haskell's runtime reserves 1 TiB, for
// which QEMU takes 15 s and 6 GiB, and tries less if that fails; Java's heap is up to a quarter of
// memory.
constexpr std::uint64_t max_reserved = 128ull << 30;
// The allocating line and its caller. Reading a frame takes time, and there are many small blocks.
constexpr unsigned max_piece_frames = 2;

nf_ring* map_ring() {
  char path[path_size];
  if (!run_folder_file(path, NF_RING_FILE)) return nullptr;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  auto* mapped = static_cast<nf_ring*>(map_memory(sizeof(nf_ring), MAP_SHARED, file));
  close(file);
  return mapped;
}

bool plugin_answers(nf_ring& shared) {
  const std::uint32_t before = __atomic_load_n(&shared.attached, __ATOMIC_RELAXED);
  syscall(NF_RING_HELLO);
  return __atomic_load_n(&shared.attached, __ATOMIC_RELAXED) != before;
}

// A program that execs itself keeps its process ID and is still profiled.
bool claim_process(nf_ring& shared) {
  std::int32_t no_process = 0;
  const std::int32_t self = getpid();
  __atomic_compare_exchange_n(&shared.process, &no_process, self, false, __ATOMIC_RELAXED,
                              __ATOMIC_RELAXED);
  if (shared.process != self) return false;
  shared.attached = 1;
  shared.threads = 1;
  shared.threads_alive = 1;
  return true;
}

bool attach(nf_ring& shared) {
  if (shared.magic != NF_RING_MAGIC) return false;
  return shared.native != 0 ? claim_process(shared) : plugin_answers(shared);
}

unsigned log2_of(std::uint64_t mask) { return static_cast<unsigned>(__builtin_popcountll(mask)); }

int find_own_code(dl_phdr_info* info, size_t, void*) {
  const auto here = reinterpret_cast<std::uint64_t>(&find_own_code);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const std::uint64_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || here < begin || here >= begin + segment.p_memsz) continue;
    ring->own_begin = begin;
    ring->own_end = begin + segment.p_memsz;
    return 1;
  }
  return 0;
}

// QEMU uses the host's floating-point unit only once the flag "inexact" is set; before, it computes
// in software, and a program whose results are all exact never sets it. Results are the same. New
// threads inherit the flag.
void let_qemu_use_host_fpu() { _mm_setcsr(_mm_getcsr() | _MM_EXCEPT_INEXACT); }

void count_child() {
  if (ring->native != 0) __atomic_fetch_add(&ring->forks, 1, __ATOMIC_RELAXED);
}

// Children are not profiled; their calls go to the real functions.
void stop_in_child() {
  runtime.active = false;
  runtime.fast_bytes = 0;
}

// After the hooks look up glibc's functions (priority 101), before the program's own constructors.
__attribute__((constructor(102))) void begin() {
  nf_ring* shared = map_ring();
  if (shared == nullptr) return;
  if (!attach(*shared)) {
    release_memory(shared, sizeof *shared);
    return;
  }
  ring = shared;
  if (ring->native == 0) let_qemu_use_host_fpu();
  runtime.lines = sim::SampledLines(log2_of(ring->mask));
  dl_iterate_phdr(find_own_code, nullptr);
  pthread_atfork(count_child, nullptr, stop_in_child);
  {
    Muted const muted;
    map_modules();
    rlimit limit{};
    const bool known = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < max_stack;
    const auto top = reinterpret_cast<std::uint64_t>(__libc_stack_end) + above_first_frame;
    send(NF_RING_STACK, {top - (known ? limit.rlim_cur : max_stack), top});
  }
  __atomic_store_n(&runtime.active, true, __ATOMIC_RELEASE);
  __atomic_store_n(&runtime.fast_bytes, fast_bytes_at(runtime.lines.rate_log2()), __ATOMIC_RELEASE);
  __atomic_store_n(&ring->open, 1, __ATOMIC_RELEASE);
}

std::uint64_t place_of(NamedFrame& frame) {
  if (frame.place == 0) frame.place = text_of(frame.text);
  return frame.place;
}

// The stack of an allocation: that of the interpreted code if it allocates, else the native stack.
class Stack {
 public:
  explicit Stack(Call call, unsigned max_count = max_interpreted) : call_(call) {
    {
      Guard const guard;
      if (!guard) return;
    }
    // Outside the guard, so that allocations by the interpreter itself are reported too.
    Muted const muted;
    count_ = interpreter_frames(call, frames_, max_count);
  }

  void send(nf_ring_kind kind, std::initializer_list<std::uint64_t> words) {
    std::uint64_t frames[max_frames];
    unsigned depth = 0;
    for (unsigned i = 0; i < count_; ++i) {
      const std::uint64_t place = place_of(*frames_[i]);
      if (place != 0) frames[depth++] = named_frame_bit | place;
    }
    if (depth == 0) {
      if (kind == NF_RING_PIECE) return;  // counted for the mapping
      depth = walk_stack(call_, frames, max_frames);
    }
    profile::send(kind, words, depth, frames);
  }

 private:
  Call call_;
  NamedFrame* frames_[max_interpreted];
  unsigned count_ = 0;
};

}  // namespace

void* reported(void* block, Call call) {
  return block == nullptr ? block : report_any_allocation(block, call);
}
void report_and_free(void* block, std::uint64_t) {
  report_any_free(block);
  real.free(block);
}

void block_allocated(std::uint64_t address, std::uint64_t size, std::uint64_t header, Call call) {
  if (!runtime.lines.any_in(address - header, size + header)) return;
  KeepErrno const keep_errno;
  Stack stack(call);
  Guard const guard;
  if (!guard) return;
  Muted const muted;
  map_modules();
  stack.send(NF_RING_ALLOCATED, {address, size, this_thread.tag});
}

std::uint16_t block_freed(std::uint64_t address, std::uint64_t size) {
  if (!runtime.lines.any_in(address, size)) return site_none;
  Guard const guard;
  if (!guard) return site_none;
  Muted const muted;
  send(NF_RING_FREED, {address, size});
  return site_unknown;  // the reader looks up the site
}

void block_kept(std::uint64_t address, std::uint64_t size, std::uint16_t site) {
  Guard const guard;
  if (!guard || site == site_none) return;
  Muted const muted;
  send(NF_RING_KEPT, {address, size});
}

void linked_block_allocated(void* block, std::uint64_t size, Call call) {
  const auto address = reinterpret_cast<std::uint64_t>(block);
  block_allocated(address, size, 0, call);
}

void linked_block_freed(void* block, std::uint64_t size) {
  block_freed(reinterpret_cast<std::uint64_t>(block), size);
}

void piece_allocated(std::uint64_t address, std::uint64_t size, Call call) {
  Stack stack(call, max_piece_frames);
  Guard const guard;
  if (!guard) return;
  Muted const muted;
  static std::uint64_t place = 0;
  std::uint64_t tag = __atomic_load_n(&place, __ATOMIC_RELAXED);
  if (tag == 0) {
    tag = text_of(python_pieces);
    if (tag == 0) return;  // no space for texts: the block is counted for the mapping, as before
    __atomic_store_n(&place, tag, __ATOMIC_RELAXED);
  }
  stack.send(NF_RING_PIECE, {address, size, tag});
}

// The plugin sees accesses inside the C library itself.
void block_cleared(std::uint64_t, std::uint64_t) {}
void block_copied(std::uint64_t, std::uint64_t, std::uint64_t) {}

bool may_map(std::uint64_t size, bool accessible) {
  return ring == nullptr || ring->native != 0 || accessible || size <= max_reserved;
}

void range_mapped(std::uint64_t address, std::uint64_t size, bool accessible, const char* path,
                  std::uint64_t offset, Call call) {
  Stack stack(call);
  if (path == nullptr && size >= min_python_arena && maps_python_arena(call)) watch_python_blocks();
  Guard const guard;
  if (!guard) return;
  Muted const muted;
  stack.send(NF_RING_MAPPED, {address, size, offset / 4096 << 1 | accessible, text_of(path)});
}

void range_unmapped(std::uint64_t address, std::uint64_t size) {
  Guard const guard;
  if (!guard) return;
  Muted const muted;
  send(NF_RING_UNMAPPED, {address, size});
}

void range_moved(std::uint64_t from, std::uint64_t from_size, std::uint64_t to,
                 std::uint64_t to_size) {
  Guard const guard;
  if (!guard) return;
  Muted const muted;
  send(NF_RING_MOVED, {from, from_size, to, to_size});
}

void range_accessible(std::uint64_t address, std::uint64_t size) {
  Guard const guard;
  if (!guard) return;
  Muted const muted;
  send(NF_RING_ACCESSIBLE, {address, size});
}

}  // namespace nearfar::profile
