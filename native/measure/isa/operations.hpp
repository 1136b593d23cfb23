// Loads and stores of whole lines, in each instruction set this processor has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace nearfar::measure {

// Lines that gather and scatter touch with one instruction, where there is one.
inline constexpr unsigned scattered_lines = 8;

// Operations on `count` adjoining lines. What they return is the sum of all 64-bit words they
// loaded, modulo 2^64. None fences; see stores_end(). Arithmetic is on integers: the bits of what
// lies in memory may be denormal numbers, and those would be slow for reasons of their own.
struct Operations {
  using Line = const std::byte*;
  const char* name;  // instruction set: avx512, avx2, sse2, scalar

  std::uint64_t (*read)(Line from, std::uint64_t count);
  std::uint64_t (*nt_load)(Line from, std::uint64_t count);  // null: there is no such load
  void (*write)(std::byte* to, std::uint64_t count, std::uint64_t value);
  // Past the caches; ordinary stores where has_nt_store is false, here and below.
  void (*nt_store)(std::byte* to, std::uint64_t count, std::uint64_t value);
  std::uint64_t (*update)(std::byte* at, std::uint64_t count);  // each word plus 1

  std::uint64_t (*copy)(std::byte* to, Line a, std::uint64_t count);
  std::uint64_t (*copy_nt)(std::byte* to, Line a, std::uint64_t count);
  std::uint64_t (*scale)(std::byte* to, Line a, std::uint64_t count);           // 3 a
  std::uint64_t (*add)(std::byte* to, Line a, Line b, std::uint64_t count);     // a + b
  std::uint64_t (*stream)(std::byte* to, Line a, Line b, std::uint64_t count);  // a + 3 b
  std::uint64_t (*stream_nt)(std::byte* to, Line a, Line b, std::uint64_t count);
  // (a xor b) + c
  std::uint64_t (*triad)(std::byte* to, Line a, Line b, Line c, std::uint64_t count);
  std::uint64_t (*triad_nt)(std::byte* to, Line a, Line b, Line c, std::uint64_t count);

  // `count` lines of which the i-th is read, from `from` on, if bit i of `reads` is set, and else
  // written, from `to` on.
  std::uint64_t (*mixed)(Line from, std::byte* to, std::uint64_t reads, unsigned count,
                         std::uint64_t value);
  std::uint64_t (*mixed_nt)(Line from, std::byte* to, std::uint64_t reads, unsigned count,
                            std::uint64_t value);

  // The first word of each of `scattered_lines` lines, at these byte offsets.
  std::uint64_t (*gather)(Line base, const std::uint64_t* offsets);
  void (*scatter)(std::byte* base, const std::uint64_t* offsets, std::uint64_t value);

  bool has_nt_store;
};

// All that this processor can run, the widest first.
const std::vector<Operations>& all_operations();

// The widest, used unless another is asked for.
inline const Operations& operations() { return all_operations().front(); }

// Those of `isa` ("": the widest); throws std::invalid_argument where this processor has it not.
const Operations& operations(std::string_view isa);

}  // namespace nearfar::measure
