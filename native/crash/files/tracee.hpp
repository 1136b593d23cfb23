// Reads a stopped process of the program: its memory, its open files, its stack.
#pragma once

#include <sys/types.h>

#include <bitset>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace nearfar::crash::files {

// Copies of the program's file descriptors are closed as soon as possible, because they keep its
// locks.
class OwnedFile {
 public:
  explicit OwnedFile(int file = -1) : file_(file) {}
  ~OwnedFile();
  OwnedFile(OwnedFile&& other) noexcept : file_(other.file_) { other.file_ = -1; }
  OwnedFile& operator=(OwnedFile&& other) noexcept;
  int get() const { return file_; }
  bool open() const { return file_ >= 0; }

 private:
  int file_;
};

class Tracee {
 public:
  explicit Tracee(pid_t thread);

  pid_t process() const { return process_; }
  // Returns the file of a file descriptor of the program.
  OwnedFile file(int descriptor) const;
  // Copies memory; returns the bytes copied.
  std::size_t read(std::uint64_t address, void* to, std::size_t bytes) const;
  std::string text(std::uint64_t address) const;
  // Returns a path by which this process reaches `path`, which is relative to the program's folder
  // or to its file descriptor `folder`.
  std::string path(int folder, std::uint64_t path) const;

  // Finds return addresses on the stack: words that point just behind a call instruction. Leftovers
  // of earlier calls in unused parts of a live frame count too. `module` numbers files.
  std::vector<std::uint64_t> stack(std::uint64_t instruction, std::uint64_t stack_pointer,
                                   const std::function<std::uint64_t(const std::string&)>& module);
  // Notes that another program runs, or that a library was loaded.
  void forget_code();

 private:
  struct Code {
    std::uint64_t end;
    std::uint64_t base;  // address of the file's offset 0
    std::string path;
  };
  bool may_be_code(std::uint64_t address) const;
  const Code* code_at(std::uint64_t address) const;
  bool is_behind_call(std::uint64_t address) const;
  void read_maps();

  pid_t process_;
  OwnedFile descriptor_;                 // pidfd
  std::map<std::uint64_t, Code> codes_;  // ordered by `begin`
  std::bitset<1 << 16> may_be_code_;     // indexed by the megabyte's number modulo the size
  // Places of return addresses, as frames of the log; 0: not a return address.
  std::unordered_map<std::uint64_t, std::uint64_t> places_;
  bool maps_are_fresh_ = false;
};

}  // namespace nearfar::crash::files
