// Hashes of 64 bits: two images collide with probability 2^-64.
#pragma once

#include <cstdint>
#include <cstring>

#include "crash/trace.h"

namespace nearfar::crash {

// MurmurHash3's finaliser (Appleby, public domain).
constexpr std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

// Returns the hash of a line's content and offset. The hash of an image is the exclusive or of its
// lines' hashes, so a single line can be replaced.
inline std::uint64_t line_hash(std::uint64_t offset, const char* content) {
  std::uint64_t hash = mix(offset + 1);
  for (std::size_t at = 0; at < NF_CRASH_LINE; at += 8) {
    std::uint64_t value = 0;
    memcpy(&value, content + at, 8);
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29;
  }
  return mix(hash);
}

inline std::uint64_t stack_hash(const std::uint64_t* frames, unsigned count) {
  std::uint64_t hash = count;
  for (unsigned i = 0; i < count; ++i) hash = mix(hash ^ frames[i]) + i;
  return hash;
}

}  // namespace nearfar::crash
