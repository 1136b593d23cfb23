// Loads and stores of whole lines, for each instruction set of this processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace nearfar::measure {

// Lines per gather or scatter.
inline constexpr unsigned scattered_lines = 8;

// Operations on `count` adjacent lines. Those with a result return the sum of all loaded 64-bit
// words, modulo 2^64. None fences; see store_fence(). Arithmetic is on integers,
// because memory may hold denormal numbers, which are slow.
struct Operations {
  using Line = const std::byte*;
  const char* name;  // instruction set: avx512, avx2, sse2, scalar

  std::uint64_t (*read)(Line from, std::uint64_t count);
  std::uint64_t (*nt_load)(Line from, std::uint64_t count);  // null: no such load
  void (*write)(std::byte* to, std::uint64_t count, std::uint64_t value);
  // Non-temporal; ordinary stores if has_nt_store is false, here and below. A value other than 0:
  // an AMD EPYC (family 25) takes lines of zeros twice as fast as others. Those that store what
  // they load need filled memory (Memory::fill).
  void (*nt_store)(std::byte* to, std::uint64_t count, std::uint64_t value);
  std::uint64_t (*update)(std::byte* at, std::uint64_t count);  // adds 1 to each word

  // On 64-bit words. 3 a and 3 b are three times the lower 32 bits.
  void (*copy)(std::byte* to, Line a, std::uint64_t count);
  void (*copy_nt)(std::byte* to, Line a, std::uint64_t count);
  void (*scale)(std::byte* to, Line a, std::uint64_t count);           // 3 a
  void (*add)(std::byte* to, Line a, Line b, std::uint64_t count);     // a + b
  void (*stream)(std::byte* to, Line a, Line b, std::uint64_t count);  // a + 3 b
  void (*stream_nt)(std::byte* to, Line a, Line b, std::uint64_t count);
  // (a xor b) + c
  void (*triad)(std::byte* to, Line a, Line b, Line c, std::uint64_t count);
  void (*triad_nt)(std::byte* to, Line a, Line b, Line c, std::uint64_t count);

  // Reads the i-th of `count` lines, from `from` on, if bit i of `reads` is set; else writes it,
  // from `to` on.
  std::uint64_t (*mixed)(Line from, std::byte* to, std::uint64_t reads, unsigned count,
                         std::uint64_t value);
  std::uint64_t (*mixed_nt)(Line from, std::byte* to, std::uint64_t reads, unsigned count,
                            std::uint64_t value);

  // Access the first word of each of `scattered_lines` lines, at these byte offsets.
  std::uint64_t (*gather)(Line base, const std::uint64_t* offsets);
  void (*scatter)(std::byte* base, const std::uint64_t* offsets, std::uint64_t value);

  bool has_nt_store;
};

// Returns the sets that this processor can run, widest first.
const std::vector<Operations>& all_operations();

// The widest set, the default.
inline const Operations& operations() { return all_operations().front(); }

// Returns the operations of `isa` ("": the widest); throws std::invalid_argument if the processor
// lacks it.
const Operations& operations(std::string_view isa);

}  // namespace nearfar::measure
