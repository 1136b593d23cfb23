// Stack walks by libgcc's unwinder.
#include <unwind.h>

#include <algorithm>

#include "crash/recorder.hpp"

namespace nearfar::crash {

namespace {

struct Walk {
  Stack stack;
  const std::uint64_t* places[max_frames];  // of the return addresses
  std::uint64_t frame_end;                  // of the first frame to include, or 0
  std::uint64_t address;                    // of the first frame to include, or 0
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
    // Readers subtract 1 from return addresses, so 1 is added to the interrupted instruction's
    // address.
    walk.stack.frames[walk.stack.count++] = address + (walk.address != 0 ? 1 : 0);
    return _URC_NO_REASON;
  }
  if (walk.stack.count == max_frames) return _URC_END_OF_STACK;
  // The call has pushed the address just below this frame's stack pointer.
  walk.places[walk.stack.count] =
      reinterpret_cast<const std::uint64_t*>(_Unwind_GetCFA(context)) - 1;
  walk.stack.frames[walk.stack.count++] = address;
  return _URC_NO_REASON;
}

// The last walked stack. The current one is the same if these registers and the return addresses at
// the same places are equal. The stack of another thread may be smaller and not contain these
// places, so it is not read.
struct Known {
  std::uint32_t thread = 0;
  std::uint64_t address = 0;
  std::uint64_t stack_pointer = 0;
  std::uint64_t frame_pointer = 0;
  Stack stack;
  const std::uint64_t* places[max_frames];
};
constexpr unsigned max_known = 256;
Known known_stacks[max_known];

bool has_returns(const Known& known) {
  for (unsigned i = 1; i < known.stack.count; ++i) {
    if (*known.places[i] != known.stack.frames[i]) return false;
  }
  return true;
}

Walk walk_from(std::uint64_t address) {
  Walk walk{{}, {}, 0, address, false};
  _Unwind_Backtrace(visit, &walk);
  if (walk.stack.count == 0) walk.stack.frames[walk.stack.count++] = address + 1;
  return walk;
}

}  // namespace

Stack stack_above(std::uint64_t frame_end) {
  Walk walk{{}, {}, frame_end, 0, false};
  _Unwind_Backtrace(visit, &walk);
  return walk.stack;
}

Stack stack_at(std::uint64_t address) { return walk_from(address).stack; }

Stack stack_at(std::uint64_t address, std::uint64_t stack_pointer, std::uint64_t frame_pointer) {
  const std::uint64_t hash = (address * 31 + stack_pointer) * 0x9e3779b97f4a7c15ULL;
  Known& known = known_stacks[(hash >> 32) % max_known];
  const std::uint32_t thread = this_thread();
  if (known.address == address && known.stack_pointer == stack_pointer &&
      known.frame_pointer == frame_pointer && known.thread == thread && has_returns(known)) {
    return known.stack;
  }
  const Walk walk = walk_from(address);
  known = {thread, address, stack_pointer, frame_pointer, walk.stack, {}};
  std::copy(walk.places, walk.places + walk.stack.count, known.places);
  return walk.stack;
}

}  // namespace nearfar::crash
