// Pool of a program driven by `nearfar crash`, whose creation a power cut may have interrupted.
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

// Whether the file is absent or begins with zeros: power was cut before RawPool::seal(), or before
// libpmemobj wrote its header. Its content is not guaranteed yet.
inline bool is_absent_or_unfinished(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return true;
  if (!S_ISREG(status.st_mode)) return false;  // device-DAX cannot be read, only mapped
  std::array<char, 8> signature{};
  std::ifstream(path, std::ios::binary).read(signature.data(), signature.size());
  return signature == std::array<char, 8>{};
}

// For checks: whether the pool's creation did not finish. If the file is absent, the following open
// fails.
inline bool is_unfinished(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && is_absent_or_unfinished(path);
}

// Returns whether the pool was not created, after removing an unfinished file.
inline bool remove_unfinished(const std::string& path) {
  if (!is_absent_or_unfinished(path)) return false;
  unlink(path.c_str());
  return true;
}

// Opens the pool, or creates it with `bytes`; returns whether it was created.
inline bool open_or_make(RawPool& pool, const std::string& path, const std::string& layout,
                         Bytes bytes) {
  const bool created = remove_unfinished(path);
  if (created) {
    pool.make(path, layout, bytes);
  } else {
    pool.open(path, layout);
  }
  return created;
}

// Recovers the table; throws if its content is then wrong.
template <typename Table>
void recover(Table& table) {
  if (const std::string wrong = table.recover(); !wrong.empty()) throw WrongContent(wrong);
}

inline void print_version(std::uint64_t key, std::uint64_t version) {
  std::printf("%llu %llu\n", static_cast<unsigned long long>(key),
              static_cast<unsigned long long>(version));
}

}  // namespace nearfar::bench
