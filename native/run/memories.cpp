#include "run/memories.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run/addresses.hpp"
#include "run/lock.hpp"

namespace nearfar::run {

namespace {

// linux/mempolicy.h
constexpr int mpol_preferred = 1;
constexpr unsigned mpol_mf_move = 2;
constexpr int mpol_local = 4;
constexpr int mpol_preferred_many = 5;        // Linux 5.15
constexpr int mpol_f_static_nodes = 1 << 15;  // has an effect only if the nodes of a cpuset change

// This process's descriptor of each memory's file.
File files[NF_RUN_MEMORIES];
std::uint32_t files_lock;

void count_bind_failure() {
  if (__atomic_fetch_add(&state.bind_failures, 1u, __ATOMIC_RELAXED) == 0) {
    state.bind_errno = static_cast<std::uint32_t>(errno);
  }
}

// Nodes of a policy.
struct Nodes {
  static constexpr unsigned bits = 8 * sizeof(unsigned long);
  unsigned long words[16] = {};
};

int set_policy(std::uint64_t begin, std::uint64_t bytes, int mode, const Nodes& nodes,
               unsigned flags) {
  return static_cast<int>(
      syscall(SYS_mbind, begin, bytes, mode, nodes.words, 16 * Nodes::bits, flags));
}

// Preferred instead of bound, because a bound page on a full node would end the program.
void bind(std::uint64_t begin, std::uint64_t bytes, int node, Policy policy, unsigned flags = 0) {
  Nodes nodes;
  if (node < 0 || static_cast<unsigned>(node) >= 16 * Nodes::bits) return;
  const auto bit = static_cast<unsigned>(node);
  nodes.words[bit / Nodes::bits] = 1ul << (bit % Nodes::bits);
  const int form = policy == Policy::moves_apart ? mpol_f_static_nodes : 0;
  if (set_policy(begin, bytes, mpol_preferred | form, nodes, flags) != 0) count_bind_failure();
}

// Binds to the nodes of near memory.
void bind_near(std::uint64_t begin, std::uint64_t bytes, const nf_run_memory& memory, Policy policy,
               unsigned flags = 0) {
  const bool apart = policy == Policy::moves_apart;
  const std::uint64_t near = memory.near_nodes;
  if (near != 0) {
    Nodes nodes;
    nodes.words[0] = near;
    const int preferred = (near & (near - 1)) == 0 ? mpol_preferred : mpol_preferred_many;
    const int mode = memory.near_mode != 0 ? static_cast<int>(memory.near_mode) : preferred;
    const int form = apart ? mpol_f_static_nodes : 0;
    if (set_policy(begin, bytes, mode | form, nodes, flags) == 0) return;
  }
  // Before Linux 5.15 there is no such policy for several nodes; the node of the current processor
  // is preferred.
  if (apart && syscall(SYS_mbind, begin, bytes, mpol_local, nullptr, 0ul, 0u) != 0) {
    count_bind_failure();
  }
}

// Locks pages from their first touch on, so that memory that is never used takes no space.
bool lock_touched(std::uint64_t begin, std::uint64_t bytes) {
  if (mlock2(reinterpret_cast<void*>(begin), bytes, MLOCK_ONFAULT) == 0) return true;
  if (__atomic_fetch_add(&state.lock_failures, 1u, __ATOMIC_RELAXED) == 0) {
    state.lock_errno = static_cast<std::uint32_t>(errno);
  }
  return false;
}

// Row of this process; null if there are more processes than rows.
nf_run_user* user;

std::uint64_t& used_of(nf_run_user& row, const nf_run_memory& memory) {
  return row.used_bytes[&memory - table->memories];
}

void clear(nf_run_user& row) {
  for (nf_run_memory& memory : table->memories) {
    const std::uint64_t used =
        __atomic_exchange_n(&used_of(row, memory), std::uint64_t{0}, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&memory.used_bytes, used, __ATOMIC_RELAXED);
  }
}

// Frees the bytes of processes that were killed or ended by _exit; returns whether there were any
// such processes.
bool sweep() {
  bool freed = false;
  for (nf_run_user& row : table->users) {
    std::int32_t pid = __atomic_load_n(&row.pid, __ATOMIC_ACQUIRE);
    if (pid <= 0 || kill(pid, 0) == 0 || errno != ESRCH) continue;
    if (!__atomic_compare_exchange_n(&row.pid, &pid, -1, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED)) {
      continue;
    }
    clear(row);
    __atomic_store_n(&row.pid, 0, __ATOMIC_RELEASE);
    freed = true;
  }
  return freed;
}

// Reserves bytes of a memory; returns false if fewer are left.
bool reserve(nf_run_memory& memory, std::uint64_t bytes) {
  for (;;) {
    const std::uint64_t before = __atomic_fetch_add(&memory.used_bytes, bytes, __ATOMIC_RELAXED);
    if (memory.capacity_bytes == 0 || before + bytes <= memory.capacity_bytes) {
      if (user != nullptr) add(used_of(*user, memory), bytes);
      return true;
    }
    __atomic_fetch_sub(&memory.used_bytes, bytes, __ATOMIC_RELAXED);
    if (!sweep()) return false;
  }
}

// Whether the bytes of an ended process can be reused. Offsets of a device cannot, because those of
// other processes may follow.
bool is_reusable(const nf_run_memory& memory) {
  return memory.kind == NF_RUN_NODE || memory.kind == NF_RUN_FILE || memory.kind == NF_RUN_LOCKED;
}

File open_file(const nf_run_memory& memory) {
  const int file = memory.kind == NF_RUN_DEVICE
                       ? open(memory.path, O_RDWR | O_CLOEXEC)
                       : open(memory.path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  struct stat status {};
  if (file < 0) return {};
  if (fstat(file, &status) != 0) {
    close(file);
    return {};
  }
  return {file + 1, 0, status.st_dev, status.st_ino};
}

// Whether the descriptor still refers to this file. A program may close any descriptor, as daemons
// do, and reuse its number.
bool is_open(const File& file) {
  struct stat status {};
  return file.descriptor_plus_one != 0 && fstat(file.descriptor_plus_one - 1, &status) == 0 &&
         status.st_dev == file.device && status.st_ino == file.number;
}

// Maps the next bytes of a file or device; returns false if it is full or cannot be opened.
bool map_file(std::uint32_t number, std::uint64_t begin, std::uint64_t bytes) {
  nf_run_memory& memory = table->memories[number];
  const bool device = memory.kind == NF_RUN_DEVICE;
  if (device) bytes = round_up(bytes, huge_page);
  if (device && (begin % huge_page != 0)) return false;
  std::uint64_t offset = 0;
  int file = -1;
  {
    Lock const lock(files_lock);
    File& kept = files[number];
    if (!is_open(kept)) kept = open_file(memory);
    file = kept.descriptor_plus_one - 1;
    if (file < 0) return false;
    if (!device) {
      if (!reserve(memory, bytes)) return false;
      offset = kept.next_offset;
      // Allocates the space now; otherwise a full disk would raise SIGBUS in the program later.
      if (posix_fallocate(file, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0) {
        return_bytes(memory, bytes);
        return false;
      }
      kept.next_offset += bytes;
    }
  }
  if (device) {
    // All processes share the device; the table counts its used bytes.
    offset = __atomic_fetch_add(&memory.used_bytes, bytes, __ATOMIC_RELAXED);
    if (offset + bytes > limit_of(memory)) {
      __atomic_fetch_sub(&memory.used_bytes, bytes, __ATOMIC_RELAXED);
      return false;
    }
    // Cleared below, because an earlier process may have left data.
    if (map_at(begin, bytes, MAP_SHARED | MAP_FIXED, file, offset) == nullptr) return false;
    memset(reinterpret_cast<void*>(begin), 0, bytes);
    return true;
  }
  if (map_at(begin, bytes, MAP_SHARED | MAP_FIXED, file, offset) != nullptr) return true;
  return_bytes(memory, bytes);
  return false;
}

}  // namespace

std::uint64_t limit_of(const nf_run_memory& memory) {
  const std::uint64_t planned = memory.capacity_bytes != 0 ? memory.capacity_bytes : UINT64_MAX;
  return memory.kind == NF_RUN_DEVICE && memory.size_bytes < planned ? memory.size_bytes : planned;
}

bool place_in_memory(std::uint64_t begin, std::uint64_t bytes, std::uint32_t number,
                     Policy policy) {
  nf_run_memory& memory = table->memories[number];
  switch (memory.kind) {
    case NF_RUN_NODE:
      if (!reserve(memory, bytes)) return false;
      bind(begin, bytes, memory.node, policy);
      return true;
    case NF_RUN_FILE:
    case NF_RUN_DEVICE:
      return map_file(number, begin, bytes);
    case NF_RUN_LOCKED:
      if (!reserve(memory, bytes)) return false;
      if (lock_touched(begin, bytes)) return true;
      return_bytes(memory, bytes);
      return false;
    default:
      if (policy != Policy::of_memory) bind_near(begin, bytes, memory, policy);
      return true;
  }
}

void bind_again(std::uint64_t begin, std::uint64_t bytes, std::uint32_t number) {
  const nf_run_memory& memory = table->memories[number];
  if (memory.kind == NF_RUN_NODE) bind(begin, bytes, memory.node, Policy::of_memory);
}

void move_to_memory(std::uint64_t begin, std::uint64_t bytes, std::uint32_t number, Policy policy) {
  const nf_run_memory& memory = table->memories[number];
  if (memory.kind == NF_RUN_NODE) bind(begin, bytes, memory.node, policy, mpol_mf_move);
  if (memory.near_nodes != 0) bind_near(begin, bytes, memory, policy, mpol_mf_move);
}

void return_bytes(nf_run_memory& memory, std::uint64_t bytes) {
  if (!is_reusable(memory)) return;
  __atomic_fetch_sub(&memory.used_bytes, bytes, __ATOMIC_RELAXED);
  if (user != nullptr) add(used_of(*user, memory), 0 - bytes);
}

void register_process() {
  const std::int32_t pid = getpid();
  user = nullptr;
  for (nf_run_user& row : table->users) {
    if (__atomic_load_n(&row.pid, __ATOMIC_ACQUIRE) != pid) continue;
    clear(row);  // row of the program that this process ran before its exec
    user = &row;
    return;
  }
  for (nf_run_user& row : table->users) {
    std::int32_t free = 0;
    if (__atomic_compare_exchange_n(&row.pid, &free, pid, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED)) {
      user = &row;
      return;
    }
  }
}

void unregister_process() {
  if (user == nullptr) return;
  clear(*user);
  __atomic_store_n(&user->pid, 0, __ATOMIC_RELEASE);
  user = nullptr;
}

Inherited detach_files() {
  Inherited inherited;
  for (unsigned i = 0; i < NF_RUN_MEMORIES; ++i) {
    inherited.files[i] = files[i];
    files[i] = {};
  }
  return inherited;
}

void close_inherited(const Inherited& inherited) {
  for (const File& file : inherited.files) {
    if (is_open(file)) close(file.descriptor_plus_one - 1);
  }
}

void memories_in_child() {
  files_lock = 0;
  if (active) register_process();
}

}  // namespace nearfar::run
