// malloc and its family. operator new and delete, strdup and the like call these.
#include <errno.h>
#include <string.h>

#include "run/arenas.hpp"
#include "run/foreign.hpp"
#include "run/jemalloc.hpp"
#include "run/pictures.hpp"
#include "run/recognise.hpp"
#include "run/shadow.hpp"
#include "run/state.hpp"

using nearfar::profile::Call;
using namespace nearfar::run;

namespace {

[[gnu::noinline]] void note(void* block, std::size_t size, Found found) {
  note_block(block, size, found.object);
  picture_after_growth();
}

// Bytes until this thread's next allocation that is looked at. Zero at first: a thread's first
// allocation finds out what is wanted. Where nothing is placed, this countdown is all that malloc
// costs more.
__thread std::int64_t countdown __attribute__((tls_model("initial-exec")));

// While inert: from time to time, since the library may wake up.
constexpr std::int64_t inert_distance = 1 << 20;
// Below what any program allocates.
constexpr std::int64_t always = INT64_MIN / 2;

// Half to one and a half of the mean, at random: programs allocate in patterns.
std::int64_t next_distance() {
  static __thread std::uint64_t dice __attribute__((tls_model("initial-exec")));
  if (dice == 0) dice = reinterpret_cast<std::uint64_t>(&dice) | 1;
  dice ^= dice << 13;
  dice ^= dice >> 7;
  dice ^= dice << 17;
  return static_cast<std::int64_t>(sample_bytes / 2 + dice % sample_bytes);
}

inline bool counted_down(std::size_t size) {
  return __builtin_expect((countdown -= static_cast<std::int64_t>(size)) < 0, 0);
}

// One that the countdown chose.
[[gnu::noinline]] void* chosen(std::size_t size, int flags, Call call);

[[gnu::noinline]] void forget(void* block) {
  const int error = errno;
  const std::size_t size = usable_size(block);
  picture_before_free(size);
  forget_block(block, size);
  errno = error;
}

[[gnu::noinline]] void* placed(std::size_t size, int flags, Call call) {
  const Found found = recognise(call, size, false);
  void* block = nullptr;
  if (found.target != 0) {
    block = far_malloc(found.target, size, flags);
  } else {
    // Its quick way is not mallocx's.
    block = flags == 0 ? je_malloc(size) : je_mallocx(size == 0 ? 1 : size, flags);
  }
  if (block == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  if (is_noted(block, size)) note(block, size, found);
  return block;
}

[[gnu::noinline]] void* chosen(std::size_t size, int flags, Call call) {
  // Libraries allocate in constructors that run before ours.
  if (mode == Mode::inert) wake();
  countdown = mode == Mode::every     ? always
              : mode == Mode::samples ? next_distance()
                                      : inert_distance;
  if (mode == Mode::every) return placed(size, flags, call);
  void* block = je_mallocx(size == 0 ? 1 : size, flags);
  if (block == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  if (mode == Mode::samples) {
    const Found found = recognise(call, size, false);
    if (size < sample_bytes) {
      note_sample(block, found.object);
    } else {
      note_block(block, size, found.object);
    }
    picture_after_growth();
  }
  return block;
}

// `flags` as of mallocx.
inline void* allocated(std::size_t size, int flags, Call call) {
  if (counted_down(size)) return chosen(size, flags, call);
  void* block = flags == 0 ? je_malloc(size) : je_mallocx(size == 0 ? 1 : size, flags);
  if (__builtin_expect(block == nullptr, 0)) errno = ENOMEM;
  return block;
}

[[gnu::noinline]] void free_far(void* block) {
  if (block == nullptr) return;
  if (!is_ours(block)) {
    foreign_free(block);
    return;
  }
  if (may_be_noted(block)) forget(block);
  const unsigned target = target_of(block);
  if (target == 0) {
    je_free(block);
  } else {
    far_free(target, block);
  }
}

[[gnu::noinline]] void* moved(void* block, std::size_t size, Call call) {
  const bool looked_at = mode == Mode::every || (mode == Mode::samples && counted_down(size));
  const Found found = looked_at ? recognise(call, size, false) : Found{NF_RUN_NO_OBJECT, 0};
  const unsigned target = target_of(block);
  const std::size_t old = usable_size(block);
  const bool was_noted = shadow != nullptr && may_be_noted(block);
  if (was_noted) forget_block(block, old);
  void* result = nullptr;
  if (found.target == target) {
    result = target == 0 ? je_realloc(block, size) : far_realloc(target, block, size);
  } else {
    result = found.target == 0 ? je_malloc(size) : far_malloc(found.target, size, 0);
    if (result != nullptr) {
      memcpy(result, block, old < size ? old : size);
      free_far(block);
    }
  }
  if (result == nullptr) {
    // The old block stays; whose it was is known by the verb's last picture at best.
    errno = ENOMEM;
    return nullptr;
  }
  if (mode == Mode::every) {
    if (is_noted(result, size)) note(result, size, found);
  } else if (looked_at) {
    countdown = next_distance();
    if (size < sample_bytes) {
      note_sample(result, found.object);
    } else {
      note(result, size, found);
    }
  }
  return result;
}

void* resized(void* block, std::size_t size, Call call) {
  if (block == nullptr) return allocated(size, 0, call);
  if (size == 0) {
    free_far(block);
    return nullptr;
  }
  if (!is_ours(block)) return foreign_realloc(block, size);
  const bool usual = mode != Mode::every && is_near(block) && !counted_down(size) &&
                     (shadow == nullptr || !may_be_noted(block));
  return usual ? je_realloc(block, size) : moved(block, size, call);
}

bool is_power_of_two(std::size_t value) { return value != 0 && (value & (value - 1)) == 0; }

}  // namespace

namespace nearfar::run {
void look_at_next_allocation() { countdown = 0; }
}  // namespace nearfar::run

#pragma GCC visibility push(default)
extern "C" {

void* malloc(std::size_t size) noexcept {
  if (counted_down(size)) return chosen(size, 0, NEARFAR_THIS_CALL);
  return je_malloc(size);
}

void free(void* block) noexcept {
  if (__builtin_expect(!is_near(block), 0)) {
    free_far(block);
    return;
  }
  if (__builtin_expect(shadow != nullptr && may_be_noted(block), 0)) forget(block);
  je_free(block);
}

void* calloc(std::size_t count, std::size_t size) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return allocated(bytes, MALLOCX_ZERO, NEARFAR_THIS_CALL);
}

void* realloc(void* block, std::size_t size) noexcept {
  return resized(block, size, NEARFAR_THIS_CALL);
}

void* reallocarray(void* block, std::size_t count, std::size_t size) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return resized(block, bytes, NEARFAR_THIS_CALL);
}

int posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int error = errno;
  void* made = allocated(size, MALLOCX_ALIGN(alignment), NEARFAR_THIS_CALL);
  errno = error;
  if (made == nullptr) return ENOMEM;
  *block = made;
  return 0;
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  if (!is_power_of_two(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  return allocated(size, MALLOCX_ALIGN(alignment), NEARFAR_THIS_CALL);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
  // As glibc: up to the next power of two.
  std::size_t power = sizeof(void*);
  while (power < alignment && power << 1 != 0) power <<= 1;
  return allocated(size, MALLOCX_ALIGN(power), NEARFAR_THIS_CALL);
}

void* valloc(std::size_t size) noexcept {
  return allocated(size, MALLOCX_ALIGN(page_bytes), NEARFAR_THIS_CALL);
}

void* pvalloc(std::size_t size) noexcept {
  const std::size_t whole = (size + page_bytes - 1) / page_bytes * page_bytes;
  if (whole < size) {
    errno = ENOMEM;
    return nullptr;
  }
  return allocated(whole, MALLOCX_ALIGN(page_bytes), NEARFAR_THIS_CALL);
}

std::size_t malloc_usable_size(void* block) noexcept {
  if (__builtin_expect(is_near(block), 1)) return je_malloc_usable_size(block);
  if (block == nullptr) return 0;
  return is_ours(block) ? usable_size(block) : foreign_usable_size(block);
}
}
#pragma GCC visibility pop
