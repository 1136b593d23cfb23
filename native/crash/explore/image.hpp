// The file in memory that a checker is given: it holds what is durable, and during a check the
// lines of one state; nothing is ever copied whole.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

namespace nearfar::crash {

class Image {
 public:
  // Throws std::runtime_error with the reason.
  Image(std::string path, std::uint64_t bytes);
  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  // All zeros again.
  void clear();
  // What is durable at `offset`, a multiple of 64, from now on. The last line of a pool that is no
  // multiple of 64 bytes is cut.
  void set(std::uint64_t offset, const char* line);
  const char* durable(std::uint64_t offset) const { return durable_ + offset; }
  // Puts a line of a state into the file, and what is durable back.
  void patch(std::uint64_t offset, const char* line);
  void undo(std::uint64_t offset);

  // The file as it was, whatever a checker did to it. `private_maps`: its mappings were its own,
  // so that only the file system knows of changes.
  void mend(bool private_maps);
  const std::string& path() const { return path_; }
  // Offsets of pages that may hold anything but zeros.
  std::vector<std::uint64_t> pages() const;
  const char* held() const { return held_; }

 private:
  void make();
  void note();
  void compare();

  std::string path_;
  std::uint64_t bytes_;
  std::uint64_t whole_;
  char* held_ = nullptr;
  char* durable_ = nullptr;
  std::vector<bool> touched_;
  struct stat known_ {};
  int file_ = -1;
};

}  // namespace nearfar::crash
