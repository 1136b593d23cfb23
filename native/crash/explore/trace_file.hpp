// A trace that is read in place: events point into the mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "crash/trace.h"

namespace nearfar::crash {

struct Event {
  const nf_crash_record* record;
  const std::uint64_t* frames;
  const char* payload;
  std::uint64_t at;        // offset in the file
  std::uint64_t position;  // index that does not count modules and sizes
};

class TraceFile {
 public:
  // Throws std::runtime_error on failure.
  explicit TraceFile(const std::string& path);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // Calls visit(event) for each event until it returns false.
  template <typename F>
  void walk(F visit) const {
    std::uint64_t position = 0;
    for (std::uint64_t at = NF_CRASH_HEADER_BYTES; at + sizeof(nf_crash_record) <= used_;) {
      const auto* record = reinterpret_cast<const nf_crash_record*>(begin_ + at);
      const std::uint64_t frames = at + sizeof(nf_crash_record);
      const std::uint64_t payload = frames + record->frames * std::uint64_t{8};
      const bool seen = record->kind != NF_CRASH_MODULE && record->kind != NF_CRASH_SIZE;
      const Event event{record, reinterpret_cast<const std::uint64_t*>(begin_ + frames),
                        begin_ + payload, at, position};
      if (seen && !visit(event)) return;
      position += seen ? 1 : 0;
      at = payload + (std::uint64_t{record->bytes} + 7) / 8 * 8;
    }
  }

 private:
  const char* begin_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t used_ = 0;
};

}  // namespace nearfar::crash
