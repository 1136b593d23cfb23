#include "run/places.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run/lock.hpp"

namespace nearfar::run {

namespace {

constexpr std::uint64_t huge_page = 2u << 20;
// Two addresses spaces' worth of file extents would be 65,530 mappings, the kernel's limit: an
// extent is divided into so many chunks at most.
constexpr std::uint64_t most_chunks = 64;
constexpr std::uint64_t least_chunk = 64u << 10;

// linux/mempolicy.h
constexpr int mpol_preferred = 1;

// Of extents, and in the upper half of a far target's slot of divided blocks.
std::uint64_t next_address[2][NF_RUN_TARGETS];
std::uint32_t extents_lock;

// A memory's file in this process, and how much of it is used.
struct File {
  int descriptor_plus_one;
  std::uint64_t next_offset;
};
File files[NF_RUN_MEMORIES];
std::uint32_t files_lock;

std::uint64_t up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::uint64_t slot_begin(unsigned target) {
  const std::uint64_t slot = target == 0 ? 0 : near_slots + target - 1;
  return first_address + (slot << slot_bits);
}

void* map_at(std::uint64_t address, std::uint64_t bytes, int flags, int file,
             std::uint64_t offset) {
  const long got = syscall(SYS_mmap, address, bytes, PROT_READ | PROT_WRITE, flags, file, offset);
  return got == -1 ? nullptr : reinterpret_cast<void*>(got);
}

// Addresses that nobody has used: they are never given out twice.
void* claim(unsigned target, std::uint64_t bytes, std::uint64_t alignment, bool divided) {
  const std::uint64_t unit = alignment > huge_page ? alignment : huge_page;
  constexpr std::uint64_t half = 1ull << (slot_bits - 1);
  const std::uint64_t first = slot_begin(target) + (divided ? half : 0);
  const std::uint64_t end = target == 0 ? slot_begin(1) : first + half;
  std::uint64_t& next = next_address[divided][target];
  for (;;) {
    std::uint64_t seen = __atomic_load_n(&next, __ATOMIC_RELAXED);
    const std::uint64_t begin = up(seen == 0 ? first : seen, unit);
    // To whole huge pages: those of a device can be mapped only so.
    const std::uint64_t after = begin + up(bytes, huge_page);
    if (after > end || after < begin) return nullptr;
    if (!__atomic_compare_exchange_n(&next, &seen, after, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED)) {
      continue;
    }
    void* memory = map_at(begin, bytes,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory != nullptr) return memory;
    if (errno != EEXIST) return nullptr;  // of another's mapping: the next addresses may be free
  }
}

void note_bind_failure() {
  if (__atomic_fetch_add(&state.bind_failures, 1u, __ATOMIC_RELAXED) == 0) {
    state.bind_errno = static_cast<std::uint32_t>(errno);
  }
}

// Preferred, not bound: on a full node a bound page is the end of the program.
void bind(std::uint64_t begin, std::uint64_t bytes, int node) {
  unsigned long nodes[16] = {};
  constexpr unsigned bits = 8 * sizeof(unsigned long);
  if (node < 0 || static_cast<unsigned>(node) >= 16 * bits) return;
  nodes[static_cast<unsigned>(node) / bits] = 1ul << (static_cast<unsigned>(node) % bits);
  if (syscall(SYS_mbind, begin, bytes, mpol_preferred, nodes, 16 * bits, 0) != 0) {
    note_bind_failure();
  }
}

// Takes room of a memory; false: there is not so much left.
bool take(nf_run_memory& memory, std::uint64_t bytes) {
  const std::uint64_t before = __atomic_fetch_add(&memory.used_bytes, bytes, __ATOMIC_RELAXED);
  if (memory.capacity_bytes == 0 || before + bytes <= memory.capacity_bytes) return true;
  __atomic_fetch_sub(&memory.used_bytes, bytes, __ATOMIC_RELAXED);
  return false;
}

// Bytes that a memory holds at most.
std::uint64_t limit_of(const nf_run_memory& memory) {
  const std::uint64_t planned = memory.capacity_bytes != 0 ? memory.capacity_bytes : UINT64_MAX;
  return memory.kind == NF_RUN_DEVICE && memory.size_bytes < planned ? memory.size_bytes : planned;
}

// Whether room that a process ends with is room again. Of a device, offsets are not handed out
// twice: others' may lie behind.
bool gives_back(const nf_run_memory& memory) {
  return memory.kind == NF_RUN_NODE || memory.kind == NF_RUN_FILE;
}

int open_file(const nf_run_memory& memory) {
  return memory.kind == NF_RUN_DEVICE ? open(memory.path, O_RDWR | O_CLOEXEC)
                                      : open(memory.path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

// Maps the next bytes of a file or device; false: it is full or cannot be opened.
bool map_file(std::uint32_t number, std::uint64_t begin, std::uint64_t bytes) {
  nf_run_memory& memory = table->memories[number];
  const bool device = memory.kind == NF_RUN_DEVICE;
  if (device) bytes = up(bytes, huge_page);
  if (device && (begin % huge_page != 0)) return false;
  std::uint64_t offset = 0;
  int file = -1;
  {
    Lock const lock(files_lock);
    File& kept = files[number];
    if (kept.descriptor_plus_one == 0) kept.descriptor_plus_one = open_file(memory) + 1;
    file = kept.descriptor_plus_one - 1;
    if (file < 0) return false;
    if (!device) {
      if (!take(memory, bytes)) return false;
      offset = kept.next_offset;
      // Room now, or a full disk would be a SIGBUS in the program later.
      if (posix_fallocate(file, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0) {
        __atomic_fetch_sub(&memory.used_bytes, bytes, __ATOMIC_RELAXED);
        return false;
      }
      kept.next_offset += bytes;
    }
  }
  if (device) {
    // All processes share the device: the table says what is taken.
    offset = __atomic_fetch_add(&memory.used_bytes, bytes, __ATOMIC_RELAXED);
    if (offset + bytes > limit_of(memory)) {
      __atomic_fetch_sub(&memory.used_bytes, bytes, __ATOMIC_RELAXED);
      return false;
    }
    // What an earlier process left there.
    if (map_at(begin, bytes, MAP_SHARED | MAP_FIXED, file, offset) == nullptr) return false;
    memset(reinterpret_cast<void*>(begin), 0, bytes);
    return true;
  }
  return map_at(begin, bytes, MAP_SHARED | MAP_FIXED, file, offset) != nullptr;
}

void remember(std::uint64_t begin, std::uint64_t bytes, unsigned target, std::uint32_t memory) {
  Lock const lock(extents_lock);
  const std::uint32_t count = state.extent_count;
  if (count != 0) {
    nf_run_extent& last = state.extents[count - 1];
    if (last.begin + last.bytes == begin && last.target == target && last.memory == memory) {
      last.bytes += bytes;
      return;
    }
  }
  if (count == NF_RUN_EXTENTS) {
    ++state.extents_lost;
    return;
  }
  state.extents[count] = {begin, bytes, target, memory};
  __atomic_store_n(&state.extent_count, count + 1, __ATOMIC_RELEASE);
}

// Takes a range out of the table, and back from the memories that had it.
void forget(std::uint64_t begin, std::uint64_t bytes) {
  Lock const lock(extents_lock);
  const std::uint64_t end = begin + bytes;
  const std::uint32_t count = state.extent_count;
  for (std::uint32_t i = 0; i < count; ++i) {
    nf_run_extent& extent = state.extents[i];
    const std::uint64_t extent_end = extent.begin + extent.bytes;
    if (extent.bytes == 0 || extent_end <= begin || end <= extent.begin) continue;
    const std::uint64_t first = begin > extent.begin ? begin : extent.begin;
    const std::uint64_t last = end < extent_end ? end : extent_end;
    const std::uint32_t memory = extent.memory;
    if (table != nullptr && gives_back(table->memories[memory])) {
      __atomic_fetch_sub(&table->memories[memory].used_bytes, last - first, __ATOMIC_RELAXED);
    }
    extent.bytes = first - extent.begin;
    if (last == extent_end) continue;
    if (extent.bytes == 0) {
      extent = {last, extent_end - last, extent.target, memory};
    } else if (state.extent_count < NF_RUN_EXTENTS) {
      state.extents[state.extent_count] = {last, extent_end - last, extent.target, memory};
      __atomic_store_n(&state.extent_count, state.extent_count + 1, __ATOMIC_RELEASE);
    } else {
      ++state.extents_lost;
    }
  }
}

bool put(std::uint64_t begin, std::uint64_t bytes, std::uint32_t number) {
  nf_run_memory& memory = table->memories[number];
  switch (memory.kind) {
    case NF_RUN_NODE:
      if (!take(memory, bytes)) return false;
      bind(begin, bytes, memory.node);
      return true;
    case NF_RUN_FILE:
    case NF_RUN_DEVICE:
      return map_file(number, begin, bytes);
    default:
      return true;
  }
}

bool any_file(unsigned target) {
  const nf_run_target& wanted = table->targets[target];
  for (unsigned i = 0; i < wanted.count; ++i) {
    if (table->memories[wanted.memory[i]].kind >= NF_RUN_FILE) return true;
  }
  return false;
}

bool any_device(const nf_run_target& wanted) {
  for (unsigned i = 0; i < wanted.count; ++i) {
    if (table->memories[wanted.memory[i]].kind == NF_RUN_DEVICE) return true;
  }
  return false;
}

// Puts into a memory as much of the beginning as it has room for, or all or nothing; returns bytes.
std::uint64_t put_what_fits(std::uint64_t begin, std::uint64_t bytes, unsigned target,
                            std::uint32_t number, bool whole) {
  std::uint64_t fits = bytes;
  if (!put(begin, bytes, number)) {
    if (whole) return 0;
    const nf_run_memory& memory = table->memories[number];
    const std::uint64_t unit = any_device(table->targets[target]) ? huge_page : page_bytes;
    const std::uint64_t used = __atomic_load_n(&memory.used_bytes, __ATOMIC_RELAXED);
    const std::uint64_t limit = limit_of(memory);
    fits = used < limit ? (limit - used) / unit * unit : 0;
    // As much as was refused: it is not room that is missing.
    if (fits == 0 || fits >= bytes || !put(begin, fits, number)) return 0;
  }
  remember(begin, fits, target, number);
  return fits;
}

// Whether a memory may hold what has no room in the target's own. Near comes last; a device maps
// whole huge pages, which a rest is not; and what jemalloc purges must not be a file.
bool stands_in(std::uint32_t number, unsigned target) {
  const std::uint32_t kind = table->memories[number].kind;
  return number != table->targets[0].memory[0] &&
         (kind == NF_RUN_NODE || (kind == NF_RUN_FILE && any_file(target)));
}

// What the target's memory has no room for is in another far memory that has, else near. `whole`:
// never in several memories.
void put_or_elsewhere(std::uint64_t begin, std::uint64_t bytes, unsigned target,
                      std::uint32_t memory, bool whole) {
  std::uint64_t done = put_what_fits(begin, bytes, target, memory, whole);
  if (done == bytes) return;
  add(state.fallback_bytes[target], bytes - done);
  for (std::uint32_t other = 0; other < table->memory_count && done < bytes; ++other) {
    if (other == memory || !stands_in(other, target)) continue;
    done += put_what_fits(begin + done, bytes - done, target, other, whole);
  }
  if (done == bytes) return;
  const std::uint32_t near = table->targets[0].memory[0];
  put(begin + done, bytes - done, near);
  remember(begin + done, bytes - done, target, near);
}

// Chunks dealt out to the memories in turn, so that each has its weight of any long stretch.
void put_interleaved(std::uint64_t begin, std::uint64_t bytes, unsigned target) {
  const nf_run_target& wanted = table->targets[target];
  std::uint64_t chunk = up(bytes / most_chunks, page_bytes);
  if (chunk < least_chunk) chunk = least_chunk;
  if (any_device(wanted)) chunk = up(chunk, huge_page);
  std::int64_t credit[NF_RUN_PARTS] = {};
  std::int64_t total = 0;
  for (unsigned i = 0; i < wanted.count; ++i) total += wanted.weight[i];
  for (std::uint64_t done = 0; done < bytes; done += chunk) {
    unsigned best = 0;
    for (unsigned i = 0; i < wanted.count; ++i) {
      credit[i] += wanted.weight[i];
      if (credit[i] > credit[best]) best = i;
    }
    credit[best] -= total;
    const std::uint64_t length = bytes - done < chunk ? bytes - done : chunk;
    put_or_elsewhere(begin + done, length, target, wanted.memory[best], false);
  }
}

void put_in_parts(std::uint64_t begin, std::uint64_t bytes, unsigned target) {
  const nf_run_target& wanted = table->targets[target];
  const std::uint64_t unit = any_device(wanted) ? huge_page : page_bytes;
  std::uint64_t total = 0;
  for (unsigned i = 0; i < wanted.count; ++i) total += wanted.weight[i];
  std::uint64_t done = 0;
  std::uint64_t weights = 0;
  for (unsigned i = 0; i < wanted.count; ++i) {
    weights += wanted.weight[i];
    const auto share = static_cast<long double>(bytes) * weights / total;
    std::uint64_t end = i + 1 == wanted.count
                            ? bytes
                            : (static_cast<std::uint64_t>(share) + unit / 2) / unit * unit;
    if (end > bytes) end = bytes;
    if (end <= done) continue;
    put_or_elsewhere(begin + done, end - done, target, wanted.memory[i], false);
    done = end;
  }
}

void put_target(std::uint64_t begin, std::uint64_t bytes, unsigned target, bool whole) {
  const nf_run_target& wanted = table->targets[target];
  switch (wanted.style) {
    case NF_RUN_INTERLEAVE:
      put_interleaved(begin, bytes, target);
      break;
    case NF_RUN_IN_PARTS:
      put_in_parts(begin, bytes, target);
      break;
    default:
      put_or_elsewhere(begin, bytes, target, wanted.memory[0], whole);
  }
}

void ask_for_huge_pages(void* begin, std::size_t bytes) {
  if (table->huge_pages != 0) {
    madvise(begin, bytes, table->huge_pages == 1 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  }
}

void* placed(unsigned target, void* memory, std::size_t bytes) {
  add(state.heap_bytes, static_cast<std::uint64_t>(bytes));
  if (table == nullptr) {
    remember(reinterpret_cast<std::uint64_t>(memory), bytes, target, 0);
    return memory;
  }
  put_target(reinterpret_cast<std::uint64_t>(memory), bytes, target, false);
  ask_for_huge_pages(memory, bytes);
  return memory;
}

int copied[2] = {-1, -1};  // closed at its end by the child once it has its copies

// What the kernel shares between parent and child is copied into memory of the child's own.
void own_copy(nf_run_extent& extent) {
  void* other = claim(extent.target, extent.bytes, huge_page, false);
  if (other == nullptr) _exit(127);  // out of memory: the parent's data would be overwritten
  if (!map_file(extent.memory, reinterpret_cast<std::uint64_t>(other), extent.bytes)) {
    extent.memory = table->targets[0].memory[0];
    add(state.fallback_bytes[extent.target], extent.bytes);
  }
  memcpy(other, reinterpret_cast<void*>(extent.begin), extent.bytes);
  syscall(SYS_mremap, other, extent.bytes, extent.bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
          extent.begin);
}

bool is_shared(const nf_run_extent& extent) {
  return table->memories[extent.memory].kind >= NF_RUN_FILE;
}

bool any_shared() {
  for (std::uint32_t i = 0; i < state.extent_count; ++i) {
    if (is_shared(state.extents[i])) return true;
  }
  return false;
}

}  // namespace

void* place_extent(unsigned target, std::size_t bytes, std::size_t alignment) {
  void* memory = claim(target, bytes, alignment, false);
  return memory == nullptr ? nullptr : placed(target, memory, bytes);
}

void* place_divided(unsigned target, std::size_t bytes) {
  void* memory = claim(target, bytes, huge_page, true);
  return memory == nullptr ? nullptr : placed(target, memory, bytes);
}

void release_extent(void* begin, std::size_t bytes) {
  syscall(SYS_munmap, begin, bytes);
  forget(reinterpret_cast<std::uint64_t>(begin), bytes);
  add(state.heap_bytes, 0 - static_cast<std::uint64_t>(bytes));
}

void mapping_gone(void* begin, std::size_t bytes) {
  forget(reinterpret_cast<std::uint64_t>(begin), bytes);
}

void place_mapping(unsigned target, void* begin, std::size_t bytes) {
  // The program may mremap it, and the kernel does that to one mapping at a time only.
  put_target(reinterpret_cast<std::uint64_t>(begin), bytes, target, is_one_mapping(target));
  ask_for_huge_pages(begin, bytes);
}

bool is_one_mapping(unsigned target) {
  return table->targets[target].style == NF_RUN_SINGLE && !any_file(target);
}

bool is_purgeable(unsigned target) { return !any_file(target); }

void places_before_fork() {
  copied[0] = copied[1] = -1;
  if (mode != Mode::inert && any_shared() && pipe2(copied, O_CLOEXEC) != 0) {
    copied[0] = copied[1] = -1;
  }
}

void places_in_parent() {
  if (copied[0] < 0) return;
  close(copied[1]);
  char nothing = 0;
  while (read(copied[0], &nothing, 1) < 0 && errno == EINTR) {
  }
  close(copied[0]);
}

void places_in_child() {
  extents_lock = files_lock = 0;
  if (mode == Mode::inert || !any_shared()) return;
  int inherited[NF_RUN_MEMORIES];
  for (unsigned i = 0; i < NF_RUN_MEMORIES; ++i) {
    inherited[i] = files[i].descriptor_plus_one - 1;
    files[i] = {};
  }
  for (std::uint32_t i = 0; i < state.extent_count; ++i) {
    if (is_shared(state.extents[i])) own_copy(state.extents[i]);
  }
  for (const int file : inherited) {
    if (file >= 0) close(file);
  }
  if (copied[0] >= 0) {
    close(copied[0]);
    close(copied[1]);
  }
}

void places_at_end() {
  for (std::uint32_t i = 0; i < state.extent_count; ++i) {
    const nf_run_extent& extent = state.extents[i];
    nf_run_memory& memory = table->memories[extent.memory];
    if (gives_back(memory)) {
      __atomic_fetch_sub(&memory.used_bytes, extent.bytes, __ATOMIC_RELAXED);
    }
  }
}

}  // namespace nearfar::run

// What jemalloc gets from the kernel for near memory and its own tables.
extern "C" __attribute__((visibility("hidden"))) void* nf_os_mmap(void* wanted, std::size_t bytes,
                                                                  int protection, int flags,
                                                                  int file, off_t offset) {
  using namespace nearfar::run;
  if (wanted == nullptr && file == -1) {
    void* memory = place_extent(0, bytes, page_bytes);
    if (memory == nullptr) {
      errno = ENOMEM;
      return MAP_FAILED;
    }
    if ((protection & PROT_WRITE) == 0) mprotect(memory, bytes, protection);
    return memory;
  }
  return reinterpret_cast<void*>(syscall(SYS_mmap, wanted, bytes, protection, flags, file, offset));
}

extern "C" __attribute__((visibility("hidden"))) int nf_os_munmap(void* begin, std::size_t bytes) {
  nearfar::run::release_extent(begin, bytes);
  return 0;
}
