// Messages between the explorer and the library in the checker. They have a fixed size and go
// through pipes, each in a single write and a single read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nearfar::crash {

constexpr unsigned max_in_flight = 32;

struct Cut {
  std::int64_t done = -1;
  std::int64_t begun = -1;
  std::uint32_t in_flight_count = 0;
  std::uint32_t shared = 0;  // 1: the pool is mapped as the checker requests, not privately
  std::uint32_t batch = 0;   // states in the batch to judge; 0: the image as it is
  std::uint32_t unused = 0;
  std::int64_t in_flight[max_in_flight] = {};
};

enum class CheckerStatus : std::uint32_t {
  ready = 1,   // value: 1 if the checker is a function
  forked = 2,  // value: process ID
  judged = 3,  // value: the function's result
  ended = 4,   // value: status of waitpid
};

struct Answer {
  CheckerStatus status;
  std::int32_t value;
  std::uint32_t
      may_have_changed;    // 1: another program was started, which may have changed the image
  std::uint32_t accepted;  // states of the batch that were accepted
};

// States of one failure point, which a checker function judges without a message per state. The
// explorer and the checker share this memory: this header, then for each state its number of lines
// (8 bytes) and for each line its offset in the pool (8 bytes) and content.
struct Batch {
  std::uint64_t judging;  // number of the state being judged
  std::int64_t begun_ms;  // start of its check on the monotonic clock
};
constexpr std::size_t max_batch_bytes = 1 << 20;
constexpr unsigned max_batch_states = 64;

// The checker's ends of the three pipes and the batch's memory, as decimal numbers:
// control,ask,answer,batch.
#define NF_CRASH_SERVE "NEARFAR_CRASH_SERVE"
// Path of the image.
#define NF_CRASH_IMAGE "NEARFAR_CRASH_IMAGE"
// Path of the checker's shared library, loaded first.
#define NF_CRASH_CHECKER_LIBRARY "NEARFAR_CRASH_CHECKER_LIBRARY"
// done,begun,operations in flight...: judge the image once, by the function if there is one.
#define NF_CRASH_ONCE "NEARFAR_CRASH_ONCE"

}  // namespace nearfar::crash
