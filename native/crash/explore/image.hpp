// The file in memory that checkers open: it contains the durable data and, during a check, the
// lines of a state. It is never copied completely.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

namespace nearfar::crash {

class Image {
 public:
  // Throws std::runtime_error on failure.
  Image(std::string path, std::uint64_t bytes);
  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  // Resets the image to zeros.
  void clear();
  // Sets the durable content at `offset`, a multiple of 64. A last line that extends beyond the
  // pool's end is cut.
  void set(std::uint64_t offset, const char* line);
  const char* durable(std::uint64_t offset) const { return durable_ + offset; }
  // Writes a state's line into the file; `undo` restores the durable content.
  void patch(std::uint64_t offset, const char* line);
  void undo(std::uint64_t offset);

  // Restores the file after a check. `private_maps`: the checker's mappings were private, so the
  // file's status shows every change.
  void restore(bool private_maps);
  const std::string& path() const { return path_; }
  // Returns the offsets of pages that may contain nonzero bytes.
  std::vector<std::uint64_t> pages() const;
  const char* mapped() const { return mapped_file_; }

 private:
  void create();
  void record_status();
  void compare();

  std::string path_;
  std::uint64_t bytes_;
  std::uint64_t whole_;
  char* mapped_file_ = nullptr;
  char* durable_ = nullptr;
  std::vector<bool> touched_;
  struct stat known_ {};
  int file_ = -1;
};

}  // namespace nearfar::crash
