// Texts in the process file, mostly without duplicates.
#pragma once

#include <cstdint>

#include "profile/runtime/process_file.hpp"

namespace nearfar::profile {

class Strings {
 public:
  void attach(ProcessHeader& header);
  void unlock() { lock_ = 0; }

  // Returns the offset of `text` in the file's table; 0, the empty string, for null or a full
  // table.
  std::uint32_t intern(const char* text);
  const char* text(std::uint32_t offset) const { return text_ + offset; }

 private:
  // Cache by pointer: compilers merge equal literals, so the pointer identifies most duplicates. A
  // quarter of the entries is enough for the function and file names of 10,000 functions; beyond
  // that, texts are duplicated.
  static constexpr std::uint32_t known_size = 1u << 16;
  struct Known {
    const char* text;
    std::uint32_t offset;
  };

  char* text_ = nullptr;
  Table* table_ = nullptr;
  Known* known_ = nullptr;
  std::uint32_t lock_ = 0;
};

}  // namespace nearfar::profile
