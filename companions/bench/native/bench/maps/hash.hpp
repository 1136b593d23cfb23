// Hash of keys: the finaliser of MurmurHash3 (A. Appleby, public domain). It is a bijection, so
// different keys have different hashes, and a hash can replace its key.
#pragma once

#include <cstdint>

namespace nearfar::bench {

constexpr std::uint64_t mixed(std::uint64_t key) noexcept {
  key ^= key >> 33U;
  key *= 0xff51afd7ed558ccdULL;
  key ^= key >> 33U;
  key *= 0xc4ceb9fe1a85ec53ULL;
  key ^= key >> 33U;
  return key;
}

// Inverse of mixed(): the steps in reverse, with the factors' inverses modulo 2^64.
constexpr std::uint64_t unmixed(std::uint64_t hash) noexcept {
  hash ^= hash >> 33U;
  hash *= 0x9cb4b2f8129337dbULL;
  hash ^= hash >> 33U;
  hash *= 0x4f74430c22a54005ULL;
  hash ^= hash >> 33U;
  return hash;
}
static_assert(unmixed(mixed(0x0123456789abcdefULL)) == 0x0123456789abcdefULL);

}  // namespace nearfar::bench
