// Unwinds by tables that were read once: a return address nearly always implies how far above the
// next one lies. The result of libgcc's unwinder is kept per return address; a walk is then a
// look-up and a load per frame. Frames of changing size (alloca, realigned stacks) show as an
// unknown next return address, or as a difference from the kept one: these are unwound by the
// tables every time.
#include "profile/runtime/stack_walk.hpp"

#include <unwind.h>

#include "profile/runtime/process_file.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

namespace {

// Return addresses of all call paths to allocations; a large program has some thousands.
constexpr std::uint64_t known_size = 1u << 15;
constexpr std::uint32_t varies = UINT32_MAX;
constexpr std::uint32_t outermost = UINT32_MAX - 1;
// A frame of a mebibyte or more is not worth keeping.
constexpr std::uint64_t largest_step = 1u << 20;

struct Known {
  std::uint64_t return_address;  // written last: an entry that shows it is whole
  std::uint32_t step;            // bytes from this frame's end to the next one's
};
Known known[known_size];

Known* find(std::uint64_t return_address, bool claim) {
  if (return_address == 0) return nullptr;  // that is how free entries look
  const std::uint64_t start = (return_address * 0x9E3779B97F4A7C15ull) >> 49;
  constexpr unsigned probes = 8;  // then it is unwound by the tables each time
  for (unsigned i = 0; i < probes; ++i) {
    Known& entry = known[(start + i) % known_size];
    const std::uint64_t address = __atomic_load_n(&entry.return_address, __ATOMIC_ACQUIRE);
    if (address == return_address) return &entry;
    if (address == 0) return claim ? &entry : nullptr;
  }
  return nullptr;
}

void keep(std::uint64_t return_address, std::uint64_t step) {
  Known* entry = find(return_address, true);
  if (entry == nullptr) return;
  const auto found = static_cast<std::uint32_t>(
      step == outermost || step < largest_step ? step : std::uint64_t{varies});
  if (entry->return_address == return_address) {
    if (entry->step != found) entry->step = varies;
    return;
  }
  entry->step = found;
  __atomic_store_n(&entry->return_address, return_address, __ATOMIC_RELEASE);
}

struct Walk {
  Call calls[max_frames + 1];
  unsigned count;
  unsigned most;
  std::uint64_t first;  // frame_end of the first frame wanted
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  const std::uint64_t frame_end = _Unwind_GetCFA(context);
  if (frame_end < walk.first) return _URC_NO_REASON;  // still inside the run time
  const std::uint64_t address = _Unwind_GetIP(context);
  if (address == 0) return _URC_END_OF_STACK;
  walk.calls[walk.count++] = {address, frame_end};
  // One frame more than wanted: it says where the last one ends.
  return walk.count == walk.most + 1 ? _URC_END_OF_STACK : _URC_NO_REASON;
}

unsigned walk_by_tables(Call call, std::uint64_t* frames, unsigned most) {
  Walk walk{};
  walk.most = most;
  walk.first = call.frame_end;
  _Unwind_Backtrace(visit, &walk);
  const bool whole = walk.count <= most;
  const unsigned count = whole ? walk.count : most;
  for (unsigned i = 0; i < count; ++i) {
    frames[i] = walk.calls[i].return_address;
    const bool last = i + 1 == walk.count;
    keep(frames[i],
         last ? std::uint64_t{outermost} : walk.calls[i + 1].frame_end - walk.calls[i].frame_end);
  }
  if (count == 0) frames[0] = call.return_address;
  return count == 0 ? 1 : count;
}

}  // namespace

unsigned walk_stack(Call call, std::uint64_t* frames, unsigned most) {
  Call here = call;
  for (unsigned count = 0; count < most; ++count) {
    const Known* entry = find(here.return_address, false);
    if (entry == nullptr || entry->step == varies) return walk_by_tables(call, frames, most);
    frames[count] = here.return_address;
    if (entry->step == outermost) return count + 1;
    here.frame_end += entry->step;
    here.return_address = *reinterpret_cast<const std::uint64_t*>(here.frame_end - 8);
  }
  return most;
}

unsigned fixed_stack(Call call, Call* calls, unsigned most) {
  for (unsigned count = 0; count < most; ++count) {
    const Known* entry = find(call.return_address, false);
    if (entry == nullptr || entry->step == varies) return 0;
    calls[count] = call;
    if (entry->step == outermost) return count + 1;
    call.frame_end += entry->step;
    call.return_address = *reinterpret_cast<const std::uint64_t*>(call.frame_end - 8);
  }
  return most;
}

void forget_steps() {
  for (Known& entry : known) {
    __atomic_store_n(&entry.return_address, std::uint64_t{0}, __ATOMIC_RELEASE);
  }
}

}  // namespace nearfar::profile
