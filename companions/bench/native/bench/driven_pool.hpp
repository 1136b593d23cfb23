// The pool of a program that `nearfar crash` drives: one whose making was cut off is made again.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include "bench/errors.hpp"
#include "bench/pool.hpp"

namespace nearfar::bench {

// Whether the file is absent or begins with zeros: power was cut before RawPool::sealed(), or
// before libpmemobj had written its header. Nothing was promised of it yet.
inline bool never_made(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return true;
  if (!S_ISREG(found.st_mode)) return false;  // device-DAX cannot be read, only mapped
  std::array<char, 8> signature{};
  std::ifstream(path, std::ios::binary).read(signature.data(), signature.size());
  return signature == std::array<char, 8>{};
}

// Of a check: whether there is nothing to check, for the pool was never made. A file that is absent
// is for the open that follows to refuse.
inline bool nothing_to_check(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && never_made(path);
}

// Whether it was never made; what is there is then removed, so that it can be.
inline bool cleared_to_make(const std::string& path) {
  if (!never_made(path)) return false;
  unlink(path.c_str());
  return true;
}

// Opens the pool, or makes it with room for `bytes`; returns whether it was made.
inline bool open_or_make(RawPool& pool, const std::string& path, const std::string& layout,
                         Bytes bytes) {
  const bool fresh = cleared_to_make(path);
  if (fresh) {
    pool.make(path, layout, bytes);
  } else {
    pool.open(path, layout);
  }
  return fresh;
}

// Finishes what a power cut interrupted; throws if that leaves wrong content.
template <typename Table>
void recover(Table& table) {
  if (const std::string wrong = table.recover(); !wrong.empty()) throw WrongContent(wrong);
}

inline void print_version(std::uint64_t key, std::uint64_t version) {
  std::printf("%llu %llu\n", static_cast<unsigned long long>(key),
              static_cast<unsigned long long>(version));
}

}  // namespace nearfar::bench
