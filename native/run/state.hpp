// State shared by the parts of the preloaded library.
#pragma once

#include <cstddef>
#include <cstdint>

#include "run/table.h"

namespace nearfar::run {

// Whether the library works: the verb's table is mapped.
extern bool active __attribute__((visibility("hidden")));
// Activates the library if there is a table. Only the first call after libc is set up has an
// effect.
void wake();

// Thread variables that malloc reads, in one structure, because each thread variable costs a load
// of its offset.
struct ThreadState {
  // Bytes until this thread's next sampled allocation. It starts at zero, so a thread's first
  // allocation takes the slow path, which sets it.
  std::uint64_t countdown;
  // The same for operator new. It stays zero if another library's operator must serve.
  std::uint64_t new_countdown;
  std::uint32_t tag_root;  // hash of the thread's tag; 0 without a tag
  bool joined_far_heap;
};
extern __thread ThreadState this_thread __attribute__((tls_model("initial-exec")))
__attribute__((visibility("hidden")));

extern nf_run_table* table;
extern nf_run_state state;

// Block addresses: consecutive slots starting here; the slots of a target are adjacent. The kernel
// places nothing here by itself: it maps downwards from the stack, and programs are above.
inline constexpr std::uint64_t first_address = 1ull << 44;
inline constexpr unsigned slot_bits = 40;  // 1 TiB
inline constexpr unsigned near_slots = 8;
// The last slot contains the tables of the far heap (far_heap.hpp).
inline constexpr unsigned heap_tables_slot = near_slots - 1;
inline constexpr unsigned slots = near_slots + NF_RUN_TARGETS - 1;
inline constexpr std::uint64_t end_address = first_address + (std::uint64_t{slots} << slot_bits);

// Whether an address is in the range of this library's blocks.
inline bool is_ours(const void* block) {
  return reinterpret_cast<std::uint64_t>(block) - first_address < end_address - first_address;
}

// Whether an address is a block of the near heap. It has the first slots, so one comparison is
// enough.
inline bool in_near_heap(const void* block) {
  return reinterpret_cast<std::uint64_t>(block) - first_address < std::uint64_t{heap_tables_slot}
                                                                      << slot_bits;
}

// Returns the target of an address in this library's range.
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
