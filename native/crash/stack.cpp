// Return addresses by the tables of libgcc's unwinder.
#include <unwind.h>

#include "crash/recorder.hpp"

namespace nearfar::crash {

namespace {

struct Walk {
  Stack stack;
  std::uint64_t frame_end;  // of the first frame wanted, or 0
  std::uint64_t address;    // that the first frame wanted is at, or 0
  bool begun;
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  const std::uint64_t address = _Unwind_GetIP(context);
  if (address == 0) return _URC_END_OF_STACK;
  if (!walk.begun) {
    walk.begun =
        walk.address != 0 ? address == walk.address : _Unwind_GetCFA(context) >= walk.frame_end;
    if (!walk.begun) return _URC_NO_REASON;
    // An interrupted instruction is itself, not the one behind a call: readers subtract one.
    walk.stack.frames[walk.stack.count++] = address + (walk.address != 0 ? 1 : 0);
    return _URC_NO_REASON;
  }
  if (walk.stack.count == most_frames) return _URC_END_OF_STACK;
  walk.stack.frames[walk.stack.count++] = address;
  return _URC_NO_REASON;
}

}  // namespace

Stack stack_above(std::uint64_t frame_end) {
  Walk walk{{}, frame_end, 0, false};
  _Unwind_Backtrace(visit, &walk);
  return walk.stack;
}

Stack stack_at(std::uint64_t address) {
  Walk walk{{}, 0, address, false};
  _Unwind_Backtrace(visit, &walk);
  if (walk.stack.count == 0) walk.stack.frames[walk.stack.count++] = address + 1;
  return walk.stack;
}

}  // namespace nearfar::crash
