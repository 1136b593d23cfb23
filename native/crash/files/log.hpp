// The log of a program's file calls: records of 8-byte granularity, without a header.
//
// A record is LogRecord, then `frames` places of 8 bytes (innermost first), then `bytes` bytes of
// payload, padded to 8. A place is the number of a module (upper 16 bits) and the offset of a
// return address in its file. Records are in the order in which the calls returned; only calls that
// worked are logged. Files and folders are named by their inode. nearfar/crash/files/log.py reads
// it.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

namespace nearfar::crash::files {

enum class LogKind : std::uint16_t {
  module = 1,    // a: its number; payload: path
  write = 2,     // a: file, b: offset, c: WriteFlags; payload: the data
  mapped = 3,    // a: file, b: offset; payload: what stores through mappings changed in one page
  truncate = 4,  // a: file, b: its new size
  allocate = 5,  // a: file, b: offset; payload: length and mode of fallocate, 8 bytes each
  create = 6,    // a: folder, b: file, c: mode; payload: name
  mkdir = 7,     // a: folder, b: the new folder; payload: name
  rmdir = 8,     // a: folder, b: the removed folder; payload: name
  unlink = 9,    // a: folder, b: file; payload: name
  link = 10,     // a: folder, b: file; payload: name
  symlink = 11,  // a: folder, b: link; payload: name, 0, target
  rename = 12,   // a: old folder, b: new folder, c: flags of renameat2; payload: name, 0, new name
  fsync = 13,    // a: file or folder, b: number of records when the call began, c: 1 if data only
  sync = 14,     // all files were synchronised; b: as for fsync
  range = 15,    // sync_file_range, which does not make data durable; a: file
  output = 16,   // payload: text printed on standard output
  refused = 17,  // a call that cannot be recorded failed with ENOSYS; payload: its name
  outside = 18,  // a file outside the data was written; payload: its path
  unrecorded = 19  // calls without a record type; payload: their names
};

enum WriteFlags : std::uint32_t {
  write_appends = 1,
  write_is_durable = 2,  // O_SYNC, O_DSYNC, RWF_SYNC, RWF_DSYNC
  write_is_direct = 4
};

struct LogRecord {
  LogKind kind;
  std::uint16_t frames;
  std::uint32_t bytes;
  std::uint64_t a;
  std::uint64_t b;
  std::uint32_t process;
  std::uint32_t c;
};
static_assert(sizeof(LogRecord) == 32);

// The log's file. Once it reaches its limit, nothing more is written.
class Log {
 public:
  Log(const char* path, std::uint64_t limit_bytes);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void append(LogRecord record, const std::vector<std::uint64_t>& frames, const void* payload);
  void append(LogRecord record, const std::vector<std::uint64_t>& frames, std::string_view text);

  std::uint64_t records() const { return records_; }
  bool full() const { return full_; }
  bool usable() const { return file_ != nullptr; }

 private:
  std::FILE* file_;
  std::uint64_t left_;
  std::uint64_t records_ = 0;
  bool full_ = false;
};

}  // namespace nearfar::crash::files
