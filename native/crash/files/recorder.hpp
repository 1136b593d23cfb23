// Translates each system call of the program to its effect on the data, and logs it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "crash/files/log.hpp"
#include "crash/files/mapped.hpp"
#include "crash/files/tracee.hpp"

namespace nearfar::crash::files {

// Location of a file: the inode of its folder, and its name there. The folder is 0 if it is not in
// the data.
struct Place {
  ino_t folder = 0;
  std::string name;
};

// A system call that has begun in a thread of the program.
struct Call {
  unsigned number = 0;
  std::uint64_t arguments[6] = {};
  std::uint64_t instruction = 0;
  std::uint64_t stack_pointer = 0;
  // can only be determined before the call
  ino_t file = 0;
  OwnedFile written{-1};  // file that the call writes to, until it ends
  Place place;
  Place target;
  std::uint64_t begun = 0;  // records in the log when the call began
  bool existed = false;
};

class Recorder {
 public:
  // `folder`: the folder with the data.
  Recorder(Log& log, const char* folder);

  // Examines a call before the kernel runs it; returns whether `ends` must be called afterwards.
  bool begins(Tracee& tracee, Call& call);
  void ends(Tracee& tracee, const Call& call, std::int64_t result);
  void refuse(std::string_view name);
  void unrecorded(std::string_view what);
  // Records the changes by stores through mappings.
  void compare_mapped();

 private:
  bool begins_output(Tracee& tracee, Call& call, int descriptor);
  bool begins_open(Tracee& tracee, Call& call);
  bool begins_named(Tracee& tracee, Call& call);
  bool begins_sync(Tracee& tracee, Call& call);
  bool begins_map(Tracee& tracee, Call& call);

  void ends_write(Tracee& tracee, const Call& call, std::uint64_t bytes);
  void ends_copy(Tracee& tracee, const Call& call, std::uint64_t bytes);
  void ends_open(Tracee& tracee, const Call& call, int descriptor);
  void ends_named(Tracee& tracee, const Call& call);
  void ends_link(Tracee& tracee, const Call& call);
  void ends_rename(Tracee& tracee, const Call& call);
  void ends_resize(Tracee& tracee, const Call& call);

  void learn(const std::string& folder);
  Place place_at(const Tracee& tracee, int folder, std::uint64_t path) const;
  bool is_data(ino_t file) const { return files_.contains(file); }
  void outside(int file);
  void created(Tracee& tracee, const Call& call, const std::string& path, const Place& place);
  void content(Tracee& tracee, const Call& call, ino_t file, int source, std::uint64_t offset,
               std::uint64_t bytes);
  void add(Tracee& tracee, const Call& call, LogRecord record, std::string_view text);
  std::vector<std::uint64_t> stack(Tracee& tracee, const Call& call);

  Log& log_;
  dev_t device_ = 0;
  // The file that the program prints to: it is also the standard output of this process.
  dev_t output_device_ = 0;
  ino_t output_ = 0;
  std::unordered_set<ino_t> files_;  // and links
  std::unordered_set<ino_t> folders_;
  std::unordered_map<std::string, std::uint64_t> modules_;
  std::unordered_set<std::string> outside_;
  MappedFiles mapped_;
  std::vector<char> buffer_;
};

}  // namespace nearfar::crash::files
