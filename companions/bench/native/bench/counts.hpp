// Counts of libnearfar_bench_count.so between begin and end. Any program may call the two
// functions; they are null unless the library is preloaded.
#pragma once

#include <cstdint>

namespace nearfar::bench {

struct Counts {
  std::uint64_t transactions;    // outermost pmemobj_tx_begin
  std::uint64_t snapshots;       // ranges passed to pmemobj_tx_add_range and similar functions
  std::uint64_t snapshot_bytes;  // bytes of these ranges
  std::uint64_t
      allocations;  // by libpmemobj, inside and outside of transactions; reservations included
  std::uint64_t frees;
  std::uint64_t publications;   // pmemobj_publish: actions made durable together
  std::uint64_t flush_calls;    // pmem_flush, pmem_persist, and copies that flush
  std::uint64_t flushed_lines;  // lines of 64 bytes in flushes and persists
  std::uint64_t copied_lines;   // lines of 64 bytes made durable by pmem_memcpy, memmove, memset
  std::uint64_t fences;         // pmem_drain and functions that end with it
  std::uint64_t msyncs;
};

}  // namespace nearfar::bench

extern "C" {
__attribute__((weak)) void nearfar_bench_count_begin();
__attribute__((weak)) void nearfar_bench_count_end(nearfar::bench::Counts* into);
}
