#include "run/places.hpp"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run/addresses.hpp"
#include "run/extents.hpp"
#include "run/memories.hpp"

namespace nearfar::run {

namespace {

// Two addresses spaces' worth of file extents would be 65,530 mappings, the kernel's limit: an
// extent is divided into so many chunks at most.
constexpr std::uint64_t most_chunks = 64;
constexpr std::uint64_t least_chunk = 64u << 10;

bool any_file(unsigned target) {
  const nf_run_target& wanted = table->targets[target];
  for (unsigned i = 0; i < wanted.count; ++i) {
    if (is_file(wanted.memory[i])) return true;
  }
  return false;
}

bool any_device(const nf_run_target& wanted) {
  for (unsigned i = 0; i < wanted.count; ++i) {
    if (table->memories[wanted.memory[i]].kind == NF_RUN_DEVICE) return true;
  }
  return false;
}

// Whether addresses of ours have nothing behind them until it is put there: files and devices are
// mapped, and what they hold is not the kernel's to count.
bool is_empty(std::uint64_t begin, unsigned target) {
  return table != nullptr && any_file(target) && is_ours(reinterpret_cast<void*>(begin));
}

// Puts into a memory as much of the beginning as it has room for, or all or nothing; returns bytes.
std::uint64_t put_what_fits(std::uint64_t begin, std::uint64_t bytes, unsigned target,
                            std::uint32_t number, bool whole) {
  if (!is_file(number) && is_empty(begin, target) && !back(begin, bytes)) return 0;
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
// never in several memories. False: there is no room anywhere.
bool put_or_elsewhere(std::uint64_t begin, std::uint64_t bytes, unsigned target,
                      std::uint32_t memory, bool whole) {
  std::uint64_t done = put_what_fits(begin, bytes, target, memory, whole);
  const std::uint64_t elsewhere = bytes - done;
  for (std::uint32_t other = 0; other < table->memory_count && done < bytes; ++other) {
    if (other == memory || !stands_in(other, target)) continue;
    done += put_what_fits(begin + done, bytes - done, target, other, whole);
  }
  if (done < bytes) {
    if (is_empty(begin, target) && !back(begin + done, bytes - done)) return false;
    const std::uint32_t near = table->targets[0].memory[0];
    put(begin + done, bytes - done, near);
    remember(begin + done, bytes - done, target, near);
  }
  if (elsewhere != 0) add(state.fallback_bytes[target], elsewhere);
  return true;
}

// Whether the kernel would map so much anonymous memory: it refuses what it could never have, and
// programs that ask for the impossible expect that.
bool would_map(std::uint64_t bytes) {
  constexpr std::uint64_t doubtful = 1u << 30;
  if (bytes < doubtful) return true;
  const long got = syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
  if (got == -1) return false;
  syscall(SYS_munmap, got, bytes);
  return true;
}

// What of a stretch goes to one memory.
struct Piece {
  std::uint64_t bytes;
  std::uint32_t memory;
};
struct Pieces {
  Piece piece[most_chunks];
  unsigned count;
};

// Neighbours in one memory are one piece: each costs a call of the kernel, or two.
void append(Pieces& pieces, Piece piece) {
  if (pieces.count != 0 && pieces.piece[pieces.count - 1].memory == piece.memory) {
    pieces.piece[pieces.count - 1].bytes += piece.bytes;
  } else {
    pieces.piece[pieces.count++] = piece;
  }
}

// Chunks dealt out to the memories in turn, so that each has its weight of any long stretch.
void interleave(Pieces& pieces, std::uint64_t bytes, const nf_run_target& wanted) {
  std::uint64_t chunk = up(up(bytes, most_chunks) / most_chunks, page_bytes);
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
    append(pieces, {bytes - done < chunk ? bytes - done : chunk, wanted.memory[best]});
  }
}

// One after the other, by weight.
void divide(Pieces& pieces, std::uint64_t bytes, const nf_run_target& wanted) {
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
    append(pieces, {end - done, wanted.memory[i]});
    done = end;
  }
}

bool put_pieces(std::uint64_t begin, const Pieces& pieces, unsigned target) {
  if (is_empty(begin, target)) {
    // Together: each piece alone may be less than what the kernel refuses.
    std::uint64_t anonymous = 0;
    for (unsigned i = 0; i < pieces.count; ++i) {
      if (!is_file(pieces.piece[i].memory)) anonymous += pieces.piece[i].bytes;
    }
    if (!would_map(anonymous)) return false;
  }
  for (unsigned i = 0; i < pieces.count; ++i) {
    const Piece& piece = pieces.piece[i];
    if (!put_or_elsewhere(begin, piece.bytes, target, piece.memory, false)) return false;
    begin += piece.bytes;
  }
  return true;
}

bool put_target(std::uint64_t begin, std::uint64_t bytes, unsigned target, bool whole) {
  const nf_run_target& wanted = table->targets[target];
  Pieces pieces;
  pieces.count = 0;
  switch (wanted.style) {
    case NF_RUN_INTERLEAVE:
      interleave(pieces, bytes, wanted);
      return put_pieces(begin, pieces, target);
    case NF_RUN_IN_PARTS:
      divide(pieces, bytes, wanted);
      return put_pieces(begin, pieces, target);
    default:
      return put_or_elsewhere(begin, bytes, target, wanted.memory[0], whole);
  }
}

void ask_for_huge_pages(void* begin, std::size_t bytes) {
  if (table->huge_pages == 0) return;
  const bool wanted = table->huge_pages == 1;
  if (madvise(begin, bytes, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) == 0) return;
  // A kernel that has no huge pages refuses to have none.
  if (!wanted && errno == EINVAL) return;
  if (__atomic_fetch_add(&state.advice_failures, 1u, __ATOMIC_RELAXED) == 0) {
    state.advice_errno = static_cast<std::uint32_t>(errno);
  }
}

Behind behind(unsigned target) {
  return table != nullptr && any_file(target) ? Behind::nothing : Behind::memory;
}

void* placed(unsigned target, void* memory, std::size_t bytes) {
  add(state.heap_bytes, static_cast<std::uint64_t>(bytes));
  if (table == nullptr) {
    remember(reinterpret_cast<std::uint64_t>(memory), bytes, target, 0);
    return memory;
  }
  if (!put_target(reinterpret_cast<std::uint64_t>(memory), bytes, target, false)) {
    release_extent(memory, bytes);
    return nullptr;
  }
  ask_for_huge_pages(memory, bytes);
  return memory;
}

}  // namespace

void* place_extent(unsigned target, std::size_t bytes, std::size_t alignment) {
  void* memory = claim(target, bytes, alignment, false, behind(target));
  return memory == nullptr ? nullptr : placed(target, memory, bytes);
}

void* place_divided(unsigned target, std::size_t bytes) {
  void* memory = claim(target, bytes, huge_page, true, behind(target));
  return memory == nullptr ? nullptr : placed(target, memory, bytes);
}

void* place_addresses(std::size_t bytes) {
  void* begin = claim(0, bytes, page_bytes, false, Behind::nothing);
  return begin == nullptr ? nullptr : placed(0, begin, bytes);
}

void place_again(void* begin, std::size_t bytes) {
  if (table == nullptr) return;
  bind_again(reinterpret_cast<std::uint64_t>(begin), bytes, table->targets[0].memory[0]);
  ask_for_huge_pages(begin, bytes);
}

void release_extent(void* begin, std::size_t bytes) {
  forget(reinterpret_cast<std::uint64_t>(begin), bytes);
  syscall(SYS_munmap, begin, bytes);
  add(state.heap_bytes, 0 - static_cast<std::uint64_t>(bytes));
}

void mapping_gone(void* begin, std::size_t bytes) {
  forget(reinterpret_cast<std::uint64_t>(begin), bytes);
}

void place_mapping(unsigned target, void* begin, std::size_t bytes) {
  bytes = up(bytes, page_bytes);
  // The program may mremap it, and the kernel does that to one mapping at a time only. Nothing
  // refuses it a place: it is there, and what no memory takes is near and counted.
  put_target(reinterpret_cast<std::uint64_t>(begin), bytes, target, is_one_mapping(target));
  ask_for_huge_pages(begin, bytes);
}

bool is_one_mapping(unsigned target) {
  return table->targets[target].style == NF_RUN_SINGLE && !any_file(target);
}

bool is_purgeable(unsigned target) { return !any_file(target); }

}  // namespace nearfar::run

// What jemalloc gets from the kernel for near memory and its own tables.
extern "C" __attribute__((visibility("hidden"))) void* nf_os_mmap(void* wanted, std::size_t bytes,
                                                                  int protection, int flags,
                                                                  int file, off_t offset) {
  using namespace nearfar::run;
  const bool written = (protection & PROT_WRITE) != 0;
  if (wanted == nullptr && file == -1) {
    void* memory = written ? place_extent(0, bytes, page_bytes) : place_addresses(bytes);
    if (memory != nullptr) return memory;
    errno = ENOMEM;
    return MAP_FAILED;
  }
  const long got = syscall(SYS_mmap, wanted, bytes, protection, flags, file, offset);
  // Where the kernel never overcommits, jemalloc maps its addresses anew as it begins to use them.
  if (got != -1 && written && is_ours(wanted)) place_again(wanted, bytes);
  return reinterpret_cast<void*>(got);
}

extern "C" __attribute__((visibility("hidden"))) int nf_os_munmap(void* begin, std::size_t bytes) {
  nearfar::run::release_extent(begin, bytes);
  return 0;
}
