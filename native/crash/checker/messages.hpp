// Between the explorer and the library in the checker: messages of fixed size through pipes, each
// written and read at once.
//
// control   explorer -> server: fork a child, which calls the checker's function as it is asked to,
//           or, where there is none, runs the checker's main for this one cut
// ask       explorer -> child that calls a function: judge the image now
// answer    server and child -> explorer
#pragma once

#include <cstdint>

namespace nearfar::crash {

constexpr unsigned most_in_flight = 32;

struct Cut {
  std::int64_t done = -1;
  std::int64_t begun = -1;
  std::uint32_t in_flight_count = 0;
  std::uint32_t shared = 0;  // 1: the pool is mapped as the checker says, not privately
  std::int64_t in_flight[most_in_flight] = {};
};

enum class Said : std::uint32_t {
  ready = 1,   // value: 1 if the checker is a function
  forked = 2,  // value: process
  judged = 3,  // value: what the function returned
  ended = 4,   // value: as waitpid tells it
};

struct Answer {
  Said said;
  std::int32_t value;
  std::uint32_t touched;  // 1: it started another program, which may have changed the image
  std::uint32_t unused;
};

// The three pipes' ends in the checker, as decimal numbers: control,ask,answer.
#define NF_CRASH_SERVE "NEARFAR_CRASH_SERVE"
// Path of the image.
#define NF_CRASH_IMAGE "NEARFAR_CRASH_IMAGE"
// A shared library that holds the checker, to be loaded first.
#define NF_CRASH_CHECKER_LIBRARY "NEARFAR_CRASH_CHECKER_LIBRARY"
// done,begun,operations in flight...: judge the image once, through the function if there is one.
#define NF_CRASH_ONCE "NEARFAR_CRASH_ONCE"

}  // namespace nearfar::crash
