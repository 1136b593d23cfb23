// Flushes, fences, and kernels that make each access's stores durable.
#pragma once

#include <cstdint>
#include <string>

#include "measure/kernel.hpp"
#include "measure/ticks.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#else
#include <atomic>
#endif

namespace nearfar::measure {

// Waits until all earlier stores and flushes have reached the persistence domain.
inline void store_fence() noexcept {
#if defined(__x86_64__)
  _mm_sfence();
#elif defined(__aarch64__)
  asm volatile("dsb ish" ::: "memory");
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

// A store fence that later instructions also wait for. A plain store fence delays only stores, so a
// clock that is read behind it would not include its time.
inline void wait_for_stores() noexcept {
#if defined(__x86_64__)
  _mm_mfence();
#elif defined(__aarch64__)
  asm volatile("dsb ish\n\tisb" ::: "memory");
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

// Waits until all earlier loads have their values.
inline void load_fence() noexcept {
#if defined(__x86_64__)
  _mm_lfence();
#elif defined(__aarch64__)
  asm volatile("dsb ld" ::: "memory");
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

// Writes `lines` lines back, by one instruction each.
using Flush = void (*)(const std::byte* first, std::uint64_t lines);

struct Flushes {
  Flush clwb = nullptr;        // keeps the line; on AArch64 DC CVAP
  Flush clflushopt = nullptr;  // drops the line
  Flush clflush = nullptr;     // drops the line, serialised; on AArch64 DC CIVAC
};
// Returns the instructions of this processor; the others are null.
const Flushes& flushes();

// `nt`: non-temporal stores; `Which`: the flush of each line, or null.
template <typename Order, bool nt, Flush Flushes::*Which>
class Persist final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic(const Shape& shape) const override {
    const Bytes ordinary = nt ? Bytes{} : shape.access;
    return {.written = ordinary,
            .non_temporal = nt ? shape.access : Bytes{},
            .owned = ordinary,
            .flushed = Which == nullptr ? Bytes{} : shape.access,
            .fences = 1.0 / shape.fence_every};
  }
  [[nodiscard]] std::string missing(const Operations& operations) const override {
    if constexpr (nt) {
      if (!operations.has_nt_store) return "has no non-temporal stores";
    }
    if constexpr (Which != nullptr) {
      if (flushes().*Which == nullptr) return "lacks the flush instruction of this kernel";
    }
    return {};
  }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    Access access(lane);
    Order order(lane);
    for (std::uint64_t i = 0; i < iterations; ++i) access(order.next());
    return lane.position;
  }
  [[nodiscard]] bool can_time_each() const override { return true; }
  std::uint64_t each(Lane& lane, std::span<std::uint32_t> ticks,
                     std::uint64_t rest) const override {
    Access access(lane);
    Order order(lane);
    time_accesses(
        ticks, rest, [&] { return order.next(); },
        [&](std::byte* at) {
          if (access(at)) wait_for_stores();
        });
    return lane.position;
  }
  [[nodiscard]] bool each_waits_for_stores(const Shape& shape) const override {
    return shape.fence_every == 1;
  }

 private:
  class Access {
   public:
    explicit Access(const Lane& lane)
        : operations_(*lane.operations),
          lines_(lane.shape.access_lines()),
          value_(lane.position + 1),
          every_(lane.shape.fence_every),
          until_fence_(every_ - lane.position % every_) {}
    // Returns whether the access ended with a fence.
    bool operator()(std::byte* at) {
      if constexpr (nt) {
        operations_.nt_store(at, lines_, value_);
      } else {
        operations_.write(at, lines_, value_);
      }
      if constexpr (Which != nullptr) flush_(at, lines_);
      if (--until_fence_ == 0) {
        store_fence();
        until_fence_ = every_;
        return true;
      }
      return false;
    }

   private:
    static Flush selected_flush() {
      if constexpr (Which != nullptr) {
        return flushes().*Which;
      } else {
        return nullptr;
      }
    }
    const Operations& operations_;
    Flush flush_ = selected_flush();
    std::uint64_t lines_;
    std::uint64_t value_;
    std::uint64_t every_;
    std::uint64_t until_fence_;
  };
};

}  // namespace nearfar::measure
