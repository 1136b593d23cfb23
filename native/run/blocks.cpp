#include "run/blocks.hpp"

#include <errno.h>
#include <string.h>

#include "run/arenas.hpp"
#include "run/foreign_blocks.hpp"
#include "run/placement.hpp"
#include "run/snapshot_requests.hpp"

using nearfar::profile::Call;

namespace nearfar::run {

std::uint64_t plain_bytes = std::uint64_t{near_slots} << slot_bits;
std::uint64_t plain_deleted_bytes = 0;

namespace {

// Bytes between checks while inert, because the library may become active.
constexpr std::uint64_t inert_distance = 1 << 20;
// Countdown of a thread that has just started: its next block is recorded.
constexpr std::uint64_t record_next = 1;
// Countdown after a block whose page already had a recorded block. The next block may be on that
// page too, so a later one is recorded.
constexpr std::uint64_t record_soon = page_bytes;

void record_pages(void* block, std::size_t size, Recognised recognised) {
  record_block(block, size, recognised.object);
  request_snapshot_after_growth();
}

std::uint64_t roll() {
  static __thread std::uint64_t dice __attribute__((tls_model("initial-exec")));
  if (dice == 0) dice = reinterpret_cast<std::uint64_t>(&dice) | 1;
  dice ^= dice << 13;
  dice ^= dice >> 7;
  dice ^= dice << 17;
  return dice;
}

// Random, between half and one and a half of the mean, because programs allocate in patterns.
std::uint64_t next_distance(std::uint64_t mean) { return mean / 2 + roll() % mean; }

// At the end of a countdown: whether to record the placed block. Restarts the countdown.
bool is_chosen(std::uint64_t& bytes, std::size_t size) {
  if (bytes == 0) {
    // Anywhere within the first countdown, so that a thread's first block is not more likely than
    // others.
    bytes = record_next + roll() % group_bytes;
    if (!countdown_ended(bytes, size)) return false;
  }
  const std::uint64_t beyond = size - bytes;
  const std::uint64_t distance = next_distance(group_bytes);
  bytes = distance > beyond ? distance - beyond : record_next;
  return true;
}

bool may_have_record(const void* block) {
  return shadow != nullptr && may_be_recorded(block, page_of(block));
}

[[gnu::noinline]] void forget_recorded(void* block) {
  const int error = errno;
  const std::size_t size = usable_size(block);
  request_snapshot_before_free(size);
  forget_block(block, size);
  errno = error;
}

void* allocate_in(unsigned target, std::size_t size, int flags) {
  void* block = nullptr;
  if (target != 0) {
    block = far_malloc(target, size, flags);
  } else {
    // je_malloc has a fast path that je_mallocx does not.
    block = flags == 0 ? je_malloc(size) : je_mallocx(size == 0 ? 1 : size, flags);
  }
  if (block == nullptr) errno = ENOMEM;
  return block;
}

// Places and records a chosen block. If its call alone decided the placement, the whole stack may
// show that the call does not decide enough: then the stacks of later blocks decide.
void* allocate_chosen(std::uint64_t& bytes, std::size_t size, int flags, Call call) {
  const Recognised recognised = recognise(call, size, false);
  if (size < min_interpreted_bytes) {
    const std::uint64_t decided = decided_target(call.return_address);
    if (decided < undecided && recognised.target != decided) leave_undecided(call.return_address);
  }
  void* block = allocate_in(recognised.target, size, flags);
  if (block == nullptr) return nullptr;
  if (!record_sample(block, recognised.object)) bytes = record_soon;
  request_snapshot_after_growth();
  return block;
}

void free_unrecorded(void* block) {
  if (in_near_heap(block)) {
    je_free(block);
  } else if (in_far_heap(block) && !is_divided(block)) {
    jf_free(block);
  } else {
    far_free(target_of(block), block);
  }
}

// Records a block whose size has changed.
void record_resized(void* block, std::size_t size, Recognised recognised) {
  std::uint64_t& bytes = this_thread.countdown;
  if (!active) {
    bytes = inert_distance;
  } else if (size >= large_bytes) {
    record_pages(block, size, recognised);
  } else if (countdown_ended(bytes, size) && is_chosen(bytes, size)) {
    if (!record_sample(block, recognised.object)) bytes = record_soon;
    request_snapshot_after_growth();
  }
}

[[gnu::noinline]] void* move_block(void* block, std::size_t size, Call call) {
  const Recognised recognised =
      active ? recognise(call, size, false) : Recognised{NF_RUN_NO_OBJECT, 0};
  const unsigned wanted = recognised.target;
  // No target: the block was placed near because its thread ended.
  const unsigned target =
      target_of(block) == 0 && !in_near_heap(block) ? NF_RUN_TARGETS : target_of(block);
  const std::size_t old = usable_size(block);
  if (may_have_record(block)) forget_block(block, old);
  void* result = nullptr;
  if (wanted == target) {
    result = target == 0 ? je_realloc(block, size) : far_realloc(target, block, size);
  } else {
    result = wanted == 0 ? je_malloc(size) : far_malloc(wanted, size, 0);
    if (result != nullptr) {
      memcpy(result, block, old < size ? old : size);
      free_unrecorded(block);
    }
  }
  if (result == nullptr) {
    // The old block stays, but only the verb's last snapshot still shows its object.
    errno = ENOMEM;
    return nullptr;
  }
  record_resized(result, size, recognised);
  return result;
}

}  // namespace

[[gnu::noinline]] void free_other(void* block) {
  if (!is_ours(block)) {
    if (block != nullptr) foreign_free(block);
    return;
  }
  if (may_have_record(block)) forget_recorded(block);
  free_unrecorded(block);
}

[[gnu::noinline]] void* allocate_far(std::size_t size) {
  void* block = far_heap_malloc(size);
  if (__builtin_expect(block != nullptr, 1)) return block;
  return allocate_in(static_cast<unsigned>(far_heap_target), size, 0);
}

[[gnu::noinline]] void* allocate_recognised(std::size_t size, int flags, Call call) {
  const Recognised recognised = recognise(call, size, false);
  void* block = allocate_in(recognised.target, size, flags);
  if (block != nullptr && size >= large_bytes) record_pages(block, size, recognised);
  return block;
}

[[gnu::noinline]] void* allocate_at_countdown_end(std::uint64_t& bytes, std::size_t size, int flags,
                                                  Call call) {
  // Libraries allocate in constructors that run before this library's.
  if (!active) wake();
  if (!active) {
    bytes = inert_distance;
    return allocate_in(0, size, flags);
  }
  if (size >= large_bytes || !is_chosen(bytes, size)) return allocate_recognised(size, flags, call);
  return allocate_chosen(bytes, size, flags, call);
}

void* allocate(std::size_t size, int flags, Call call) {
  if (countdown_ended(this_thread.countdown, size)) {
    return allocate_at_countdown_end(this_thread.countdown, size, flags, call);
  }
  return active ? allocate_recognised(size, flags, call) : allocate_in(0, size, flags);
}

void* resize(void* block, std::size_t size, Call call) {
  if (block == nullptr) return allocate(size, 0, call);
  if (size == 0) {
    free_block(block);
    return nullptr;
  }
  if (!is_ours(block)) return foreign_realloc(block, size);
  const bool plain = reinterpret_cast<std::uint64_t>(block) - first_address < plain_bytes &&
                     !countdown_ended(this_thread.countdown, size);
  return plain ? je_realloc(block, size) : move_block(block, size, call);
}

void check_next_allocation() {
  this_thread.countdown = this_thread.new_countdown = 0;
  __atomic_store_n(&plain_bytes, 0, __ATOMIC_SEQ_CST);
  __atomic_store_n(&plain_deleted_bytes, 0, __ATOMIC_SEQ_CST);
}

}  // namespace nearfar::run
