#include "run/placement.hpp"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run/addresses.hpp"
#include "run/extents.hpp"
#include "run/memories.hpp"
#include "run/ranges.hpp"

namespace nearfar::run {

namespace {

// Maximum chunks of an extent: each chunk is a mapping, and the kernel allows 65,530 per process.
// The first extent of a target, one huge page, has smaller chunks because small objects share it.
constexpr std::uint64_t max_chunks = 64;
constexpr std::uint64_t min_chunk = 16u << 10;
// Maximum pieces of a block in ranges; the rest goes to the memory of the last piece.
constexpr unsigned max_pieces = 160;

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

// Whether addresses of this library have no memory before `place_in_memory`. This is so for files
// and devices, which are mapped there and whose bytes the kernel does not count.
bool is_empty(std::uint64_t begin, unsigned target) {
  return table != nullptr && any_file(target) && is_ours(reinterpret_cast<void*>(begin));
}

// Addresses of a target, with their position and policy.
struct Stretch {
  std::uint64_t begin;
  std::uint64_t bytes;
  unsigned target;
  std::uint64_t position;
  Policy policy;
};

// Returns the part behind the first bytes.
Stretch after(const Stretch& stretch, std::uint64_t bytes) {
  return {stretch.begin + bytes, stretch.bytes - bytes, stretch.target,
          advanced(stretch.position, bytes), stretch.policy};
}

// Places as much of the start as fits in a memory, or with `whole` all or nothing; returns the
// number of bytes placed.
std::uint64_t place_what_fits(const Stretch& wanted, std::uint32_t number, bool whole) {
  const auto [begin, bytes, target, position, policy] = wanted;
  if (!is_file(number) && is_empty(begin, target) && !back_with_memory(begin, bytes)) return 0;
  std::uint64_t fits = bytes;
  if (!place_in_memory(begin, bytes, number, policy)) {
    if (whole) return 0;
    const nf_run_memory& memory = table->memories[number];
    const std::uint64_t unit = any_device(table->targets[target]) ? huge_page : page_bytes;
    const std::uint64_t used = __atomic_load_n(&memory.used_bytes, __ATOMIC_RELAXED);
    const std::uint64_t limit = limit_of(memory);
    fits = used < limit ? (limit - used) / unit * unit : 0;
    // If everything would fit, the failure has a reason other than space.
    if (fits == 0 || fits >= bytes || !place_in_memory(begin, fits, number, policy)) return 0;
  }
  record_extent({begin, fits, target, number, position});
  return fits;
}

// Whether a memory may take bytes that do not fit into the target's memory. Near memory is tried
// last. A device maps only whole huge pages, which the remainder is not, and jemalloc must not
// purge files.
bool can_replace(std::uint32_t number, unsigned target) {
  const std::uint32_t kind = table->memories[number].kind;
  return number != table->targets[0].memory[0] &&
         (kind == NF_RUN_NODE || (kind == NF_RUN_FILE && any_file(target)));
}

// Places bytes that do not fit into the target's memory: in another far memory with space, else
// near. `whole`: not in several memories. Returns false if no memory has space.
bool place_or_fall_back(const Stretch& wanted, std::uint32_t memory, bool whole) {
  const unsigned target = wanted.target;
  Stretch rest = after(wanted, place_what_fits(wanted, memory, whole));
  const std::uint64_t elsewhere = rest.bytes;
  for (std::uint32_t other = 0; other < table->memory_count && rest.bytes != 0; ++other) {
    if (other == memory || !can_replace(other, target)) continue;
    rest = after(rest, place_what_fits(rest, other, whole));
  }
  if (rest.bytes != 0) {
    if (is_empty(wanted.begin, target) && !back_with_memory(rest.begin, rest.bytes)) return false;
    const std::uint32_t near = table->targets[0].memory[0];
    place_in_memory(rest.begin, rest.bytes, near, rest.policy);
    record_extent({rest.begin, rest.bytes, target, near, rest.position});
  }
  if (elsewhere != 0) add(state.fallback_bytes[target], elsewhere);
  return true;
}

// Whether the kernel would map so much anonymous memory. It refuses more than the machine could
// ever have, and programs rely on that.
bool kernel_would_map(std::uint64_t bytes) {
  constexpr std::uint64_t always_mapped_bytes = 1u << 30;
  if (bytes < always_mapped_bytes) return true;
  const long result = syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
  if (result == -1) return false;
  syscall(SYS_munmap, result, bytes);
  return true;
}

// Bytes of a range that go to one memory.
struct Piece {
  std::uint64_t bytes;
  std::uint32_t memory;
  Policy policy;
};
struct Pieces {
  Piece piece[max_pieces];
  unsigned count;
};

// Merges adjacent bytes in one memory into one piece, because each piece costs one or two system
// calls.
void append(Pieces& pieces, Piece piece) {
  Piece* const last = pieces.count == 0 ? nullptr : &pieces.piece[pieces.count - 1];
  const bool continues_last =
      last != nullptr && last->memory == piece.memory && last->policy == piece.policy;
  if (pieces.count == max_pieces || continues_last) {
    last->bytes += piece.bytes;
  } else {
    pieces.piece[pieces.count++] = piece;
  }
}

// Interleaves chunks over the memories, so that each has its share, by weight, of any long range.
void interleave(Pieces& pieces, std::uint64_t bytes, const nf_run_target& wanted) {
  std::uint64_t chunk = round_up(round_up(bytes, max_chunks) / max_chunks, page_bytes);
  if (bytes <= huge_page) chunk = min_chunk;
  if (any_device(wanted)) chunk = round_up(chunk, huge_page);
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
    append(pieces,
           {bytes - done < chunk ? bytes - done : chunk, wanted.memory[best], Policy::of_memory});
  }
}

// Divides the bytes in order, by weight.
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
    append(pieces, {end - done, wanted.memory[i], Policy::of_memory});
    done = end;
  }
}

// Divides bytes, from a position on, by the ranges of the target.
void divide_by_range(Pieces& pieces, std::uint64_t bytes, unsigned target, std::uint64_t position) {
  const std::uint64_t unit = any_device(table->targets[target]) ? huge_page : page_bytes;
  for (std::uint64_t done = 0; done < bytes;) {
    std::uint64_t size = 0;
    const nf_run_range& range = range_at(target, position + done, size);
    const std::uint64_t left = bytes - done;
    if (size < left) size = size < unit ? unit : (size + unit / 2) / unit * unit;
    if (size > left) size = left;
    append(pieces, {size, range.memory, policy_of(range)});
    done += size;
  }
}

bool place_pieces(std::uint64_t begin, const Pieces& pieces, unsigned target,
                  std::uint64_t position = no_position) {
  if (is_empty(begin, target)) {
    // The sum is checked, because the kernel might not refuse each piece by itself.
    std::uint64_t anonymous = 0;
    for (unsigned i = 0; i < pieces.count; ++i) {
      if (!is_file(pieces.piece[i].memory)) anonymous += pieces.piece[i].bytes;
    }
    if (!kernel_would_map(anonymous)) return false;
  }
  for (unsigned i = 0; i < pieces.count; ++i) {
    const Piece& piece = pieces.piece[i];
    const Stretch stretch{begin, piece.bytes, target, position, piece.policy};
    if (!place_or_fall_back(stretch, piece.memory, false)) return false;
    begin += piece.bytes;
    position = advanced(position, piece.bytes);
  }
  return true;
}

bool place_target(std::uint64_t begin, std::uint64_t bytes, unsigned target, bool whole,
                  std::uint64_t position) {
  const nf_run_target& wanted = table->targets[target];
  // Objects that move have targets of their own.
  const Policy policy = table->adapts != 0 && target != 0 ? Policy::moves : Policy::of_memory;
  const Stretch all{begin, bytes, target, no_position, policy};
  Pieces pieces;
  pieces.count = 0;
  switch (wanted.style) {
    case NF_RUN_INTERLEAVE:
      interleave(pieces, bytes, wanted);
      return place_pieces(begin, pieces, target);
    case NF_RUN_IN_PARTS:
      divide(pieces, bytes, wanted);
      return place_pieces(begin, pieces, target);
    case NF_RUN_IN_RANGES:
      if (position == no_position) {
        return place_or_fall_back(all, wanted.memory[0], false);
      }
      divide_by_range(pieces, bytes, target, position);
      return place_pieces(begin, pieces, target, position);
    default:
      return place_or_fall_back(all, wanted.memory[0], whole);
  }
}

void ask_for_huge_pages(void* begin, std::size_t bytes) {
  if (table->huge_pages == 0) return;
  const bool wanted = table->huge_pages == 1;
  if (madvise(begin, bytes, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) == 0) return;
  // A kernel without huge pages refuses MADV_NOHUGEPAGE.
  if (!wanted && errno == EINVAL) return;
  if (__atomic_fetch_add(&state.advice_failures, 1u, __ATOMIC_RELAXED) == 0) {
    state.advice_errno = static_cast<std::uint32_t>(errno);
  }
}

Backing backing(unsigned target) {
  return table != nullptr && any_file(target) ? Backing::nothing : Backing::memory;
}

void* placed(unsigned target, void* memory, std::size_t bytes,
             std::uint64_t position = no_position) {
  add(state.heap_bytes, static_cast<std::uint64_t>(bytes));
  if (table == nullptr) {
    record_extent({reinterpret_cast<std::uint64_t>(memory), bytes, target, 0, no_position});
    return memory;
  }
  const auto begin = reinterpret_cast<std::uint64_t>(memory);
  if (!place_target(begin, bytes, target, false, position)) {
    release_extent(memory, bytes);
    return nullptr;
  }
  ask_for_huge_pages(memory, bytes);
  return memory;
}

void place_again(void* begin, std::size_t bytes) {
  if (table == nullptr) return;
  bind_again(reinterpret_cast<std::uint64_t>(begin), bytes, table->targets[0].memory[0]);
  ask_for_huge_pages(begin, bytes);
}

// Maps new near memory for a heap, or addresses over which the heap maps memory later
// (`place_again`).
void* place_near(Purpose purpose, std::size_t bytes, bool backed) {
  void* begin = claim(0, bytes, page_bytes, purpose, backed ? Backing::memory : Backing::nothing);
  return begin == nullptr ? nullptr : placed(0, begin, bytes);
}

void* map_for_heap(Purpose purpose, void* wanted, std::size_t bytes, int protection, int flags,
                   int file, off_t offset) {
  const bool written = (protection & PROT_WRITE) != 0;
  if (wanted == nullptr && file == -1) {
    void* memory = place_near(purpose, bytes, written);
    if (memory != nullptr) return memory;
    errno = ENOMEM;
    return MAP_FAILED;
  }
  const long result = syscall(SYS_mmap, wanted, bytes, protection, flags, file, offset);
  // If the kernel never overcommits, jemalloc maps its addresses again when it begins to use them.
  if (result != -1 && written && is_ours(wanted)) place_again(wanted, bytes);
  return reinterpret_cast<void*>(result);
}

}  // namespace

void* place_extent(unsigned target, std::size_t bytes, std::size_t alignment) {
  void* memory = claim(target, bytes, alignment, Purpose::extent, backing(target));
  return memory == nullptr ? nullptr : placed(target, memory, bytes);
}

void* place_divided(unsigned target, std::size_t bytes, std::uint64_t position) {
  void* memory = claim(target, bytes, huge_page, Purpose::divided, backing(target));
  return memory == nullptr ? nullptr : placed(target, memory, bytes, position);
}

void release_extent(void* begin, std::size_t bytes) {
  remove_extent(reinterpret_cast<std::uint64_t>(begin), bytes);
  syscall(SYS_munmap, begin, bytes);
  add(state.heap_bytes, 0 - static_cast<std::uint64_t>(bytes));
}

void mapping_gone(void* begin, std::size_t bytes) {
  remove_extent(reinterpret_cast<std::uint64_t>(begin), bytes);
}

void place_mapping(unsigned target, void* begin, std::size_t bytes, std::uint64_t position) {
  bytes = round_up(bytes, page_bytes);
  // Uses one mapping where possible, because the program may mremap it, and that works only on a
  // single mapping. The mapping exists already: bytes that fit into no memory stay near and are
  // counted.
  place_target(reinterpret_cast<std::uint64_t>(begin), bytes, target, is_one_mapping(target),
               position);
  ask_for_huge_pages(begin, bytes);
}

bool is_one_mapping(unsigned target) {
  return table->targets[target].style == NF_RUN_SINGLE && !any_file(target);
}

bool is_purgeable(unsigned target) { return !any_file(target); }

}  // namespace nearfar::run

// mmap of the two heaps, for near memory and their tables.
#pragma GCC visibility push(hidden)
extern "C" {
void* nf_os_mmap(void* wanted, std::size_t bytes, int protection, int flags, int file,
                 off_t offset) {
  using namespace nearfar::run;
  return map_for_heap(Purpose::extent, wanted, bytes, protection, flags, file, offset);
}

void* nf_far_os_mmap(void* wanted, std::size_t bytes, int protection, int flags, int file,
                     off_t offset) {
  using namespace nearfar::run;
  return map_for_heap(Purpose::heap_tables, wanted, bytes, protection, flags, file, offset);
}

int nf_os_munmap(void* begin, std::size_t bytes) {
  nearfar::run::release_extent(begin, bytes);
  return 0;
}
}
#pragma GCC visibility pop
