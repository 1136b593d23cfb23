// What the parts of the preloaded library share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "run/table.h"

namespace nearfar::run {

// Inert until the verb's table is mapped; then whether each allocation is recognised or, since all
// objects go near, only those that are sampled for the record.
enum class Mode : std::uint32_t { inert, samples, every };

extern Mode mode __attribute__((visibility("hidden")));
// Leaves `inert`, if there is a table; only the first call that finds libc set up does anything.
void wake();
extern nf_run_table* table;
extern nf_run_state state;

// Addresses of blocks: one slot after the other from here, a target's slots together. The kernel
// puts nothing here by itself: it maps downwards from the stack, and programs lie above.
inline constexpr std::uint64_t first_address = 1ull << 44;
inline constexpr unsigned slot_bits = 40;  // 1 TiB
inline constexpr unsigned near_slots = 8;
inline constexpr unsigned slots = near_slots + NF_RUN_TARGETS - 1;
inline constexpr std::uint64_t end_address = first_address + (std::uint64_t{slots} << slot_bits);

// Whether an address is in memory that this library handed out.
inline bool is_ours(const void* block) {
  return reinterpret_cast<std::uint64_t>(block) - first_address < end_address - first_address;
}

// Whether an address of ours is in near memory: the first slots, so one comparison tells both.
inline bool is_near(const void* block) {
  return reinterpret_cast<std::uint64_t>(block) - first_address < std::uint64_t{near_slots}
                                                                      << slot_bits;
}

// The target whose memory an address of ours is in.
inline unsigned target_of(const void* block) {
  const std::uint64_t slot = (reinterpret_cast<std::uint64_t>(block) - first_address) >> slot_bits;
  return slot < near_slots ? 0 : static_cast<unsigned>(slot - near_slots + 1);
}

inline constexpr std::uint64_t page_bytes = 4096;

template <typename Integer>
void add(Integer& counter, Integer amount) {
  __atomic_fetch_add(&counter, amount, __ATOMIC_RELAXED);
}

}  // namespace nearfar::run
