// Files that the program maps shared: finds what its stores changed since the last check.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "crash/files/tracee.hpp"

namespace nearfar::crash::files {

constexpr std::size_t page_bytes = 4096;

class MappedFiles {
 public:
  // Receives the file, the offset and the changed content within one page.
  using Changed = std::function<void(ino_t, std::uint64_t, const char*, std::size_t)>;

  // Remembers the content before the first mapping. `file` is a descriptor of the program.
  void add(ino_t number, int file);
  // Notes that a call changed part of the file or its size.
  void wrote(ino_t number, std::uint64_t offset, const char* data, std::size_t bytes);
  void resized(ino_t number, std::uint64_t size);
  // Reports the changes of all files.
  void compare(const Changed& changed);

 private:
  using Page = std::array<char, page_bytes>;
  struct File {
    OwnedFile file;  // opened separately: a copy of the program's descriptor would keep its locks
    std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages;  // pages that are not all zeros
    Page& page(std::uint64_t number);
    void compare(ino_t number, const Changed* changed);
    void compare_page(ino_t number, std::uint64_t page, const char* now, std::size_t bytes,
                      const Changed* changed);
  };
  std::unordered_map<ino_t, File> files_;
};

}  // namespace nearfar::crash::files
