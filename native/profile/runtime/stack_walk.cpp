// Fast stack walks. A return address nearly always implies the distance to the next one on the
// stack. The results of libgcc's unwinder are stored per return address, so a walk needs one
// look-up and one load per frame. Frames of varying size (alloca, realigned stacks) lead to an
// unknown next return address or to a different distance: these are always unwound by the tables.
// Unwinding stops as soon as all further callers are known.
#include "profile/runtime/stack_walk.hpp"

#include <unwind.h>

#include "profile/runtime/process_file.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

namespace {

// Maximum number of return addresses on all paths to allocations; a large program has some
// thousands. A short-lived program has hundreds: it touches only the first table, because each page
// costs a fault.
constexpr unsigned table_bits[] = {11, 15};
constexpr std::uint32_t varies = UINT32_MAX;
constexpr std::uint32_t outermost = UINT32_MAX - 1;
// Frames of a mebibyte or more are not stored.
constexpr std::uint64_t max_step = 1u << 20;

struct KnownStep {
  std::uint64_t return_address;  // written last: the entry is then complete
  std::uint32_t step;            // distance from this frame's end to the next frame's end
};
// The table with N entries begins at entry N.
KnownStep known_steps[2u << table_bits[1]];

KnownStep* find(std::uint64_t return_address, bool claim) {
  if (return_address == 0) return nullptr;  // marks free entries
  for (const unsigned bits : table_bits) {
    const std::uint64_t size = std::uint64_t{1} << bits;
    const std::uint64_t start = (return_address * 0x9E3779B97F4A7C15ull) >> (64 - bits);
    constexpr unsigned probes = 8;  // further addresses are always unwound by the tables
    for (unsigned i = 0; i < probes; ++i) {
      KnownStep& entry = known_steps[size + (start + i) % size];
      const std::uint64_t address = __atomic_load_n(&entry.return_address, __ATOMIC_ACQUIRE);
      if (address == return_address) return &entry;
      if (address == 0) return claim ? &entry : nullptr;
    }
  }
  return nullptr;
}

void store_step(std::uint64_t return_address, std::uint64_t step) {
  KnownStep* entry = find(return_address, true);
  if (entry == nullptr) return;
  const auto step_bytes = static_cast<std::uint32_t>(
      step == outermost || step < max_step ? step : std::uint64_t{varies});
  if (entry->return_address == return_address) {
    if (entry->step != step_bytes) entry->step = varies;
    return;
  }
  entry->step = step_bytes;
  __atomic_store_n(&entry->return_address, return_address, __ATOMIC_RELEASE);
}

// Result of following stored steps: the number of all calls, or 0 and the number of the first call
// without a stored step.
struct Known {
  unsigned count;
  unsigned unknown;
};

// Follows stored steps from `here`, which is call number `count`.
Known follow_steps(Call here, unsigned count, std::uint64_t* frames, unsigned max_count) {
  for (; count < max_count; ++count) {
    const KnownStep* entry = find(here.return_address, false);
    if (entry == nullptr || entry->step == varies) return {0, count};
    frames[count] = here.return_address;
    if (entry->step == outermost) return {count + 1, 0};
    here.frame_end += entry->step;
    here.return_address = *reinterpret_cast<const std::uint64_t*>(here.frame_end - 8);
  }
  return {max_count, 0};
}

struct Walk {
  Call calls[max_frames + 1];
  unsigned count;
  unsigned max_count;
  std::uint64_t first;  // frame_end of the first frame to include
  std::uint64_t* frames;
  unsigned unknown;      // number of the frame that must be unwound
  unsigned total_count;  // number of all calls, if stored steps led to the last one; else 0
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  const std::uint64_t frame_end = _Unwind_GetCFA(context);
  if (frame_end < walk.first) return _URC_NO_REASON;  // still inside the runtime
  const std::uint64_t address = _Unwind_GetIP(context);
  if (address == 0) return _URC_END_OF_STACK;
  const unsigned number = walk.count++;
  walk.calls[number] = {address, frame_end};
  // The frame after the requested ones gives the end of the last one.
  if (number == walk.max_count) return _URC_END_OF_STACK;
  if (number <= walk.unknown) return _URC_NO_REASON;
  // The steps of callers may be stored before those of the functions that they call, and unwinding
  // takes a microsecond per frame.
  const Known known = follow_steps(walk.calls[number], number, walk.frames, walk.max_count);
  walk.total_count = known.count;
  walk.unknown = known.unknown;
  return known.count != 0 ? _URC_END_OF_STACK : _URC_NO_REASON;
}

// `unknown`: number of the first frame whose step is not stored.
unsigned walk_by_tables(Call call, std::uint64_t* frames, unsigned max_count, unsigned unknown) {
  Walk walk{};
  walk.max_count = max_count;
  walk.first = call.frame_end;
  walk.frames = frames;
  walk.unknown = unknown;
  _Unwind_Backtrace(visit, &walk);
  const unsigned count = walk.count <= max_count ? walk.count : max_count;
  for (unsigned i = 0; i < count; ++i) {
    frames[i] = walk.calls[i].return_address;
    if (i + 1 < walk.count) {
      store_step(frames[i], walk.calls[i + 1].frame_end - walk.calls[i].frame_end);
    } else if (walk.total_count == 0) {
      store_step(frames[i], outermost);
    }
  }
  if (count == 0) frames[0] = call.return_address;
  if (walk.total_count != 0) return walk.total_count;
  return count == 0 ? 1 : count;
}

}  // namespace

unsigned walk_stack(Call call, std::uint64_t* frames, unsigned max_count) {
  const Known known = follow_steps(call, 0, frames, max_count);
  return known.count != 0 ? known.count : walk_by_tables(call, frames, max_count, known.unknown);
}

unsigned fixed_stack(Call call, Call* calls, unsigned max_count) {
  for (unsigned count = 0; count < max_count; ++count) {
    const KnownStep* entry = find(call.return_address, false);
    if (entry == nullptr || entry->step == varies) return 0;
    calls[count] = call;
    if (entry->step == outermost) return count + 1;
    call.frame_end += entry->step;
    call.return_address = *reinterpret_cast<const std::uint64_t*>(call.frame_end - 8);
  }
  return max_count;
}

bool go_to_caller(Call& call) {
  const KnownStep* entry = find(call.return_address, false);
  if (entry == nullptr || entry->step == varies || entry->step == outermost) return false;
  call.frame_end += entry->step;
  call.return_address = *reinterpret_cast<const std::uint64_t*>(call.frame_end - 8);
  return true;
}

void reset_steps() {
  for (KnownStep& entry : known_steps) {
    // Pages that were never used stay untouched.
    if (entry.return_address != 0) {
      __atomic_store_n(&entry.return_address, std::uint64_t{0}, __ATOMIC_RELEASE);
    }
  }
}

}  // namespace nearfar::profile
