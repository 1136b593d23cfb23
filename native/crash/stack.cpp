// Stack walks by libgcc's unwinder.
#include <unwind.h>

#include "crash/recorder.hpp"

namespace nearfar::crash {

namespace {

struct Walk {
  Stack stack;
  std::uint64_t frame_end;  // of the first frame to include, or 0
  std::uint64_t address;    // of the first frame to include, or 0
  bool started;
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  const std::uint64_t address = _Unwind_GetIP(context);
  if (address == 0) return _URC_END_OF_STACK;
  if (!walk.started) {
    walk.started =
        walk.address != 0 ? address == walk.address : _Unwind_GetCFA(context) >= walk.frame_end;
    if (!walk.started) return _URC_NO_REASON;
    // Readers subtract 1 from return addresses, so the interrupted instruction's address gets 1
    // added.
    walk.stack.frames[walk.stack.count++] = address + (walk.address != 0 ? 1 : 0);
    return _URC_NO_REASON;
  }
  if (walk.stack.count == max_frames) return _URC_END_OF_STACK;
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
