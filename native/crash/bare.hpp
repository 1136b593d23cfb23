// Flushes and fences that the program or its libraries execute as bare instructions.
//
// A breakpoint at each is hit, recorded and skipped: flushing changes no content, and the return
// from the signal orders more than a fence does. They are found by their bytes, and only where
// decoding from the function's begin (its unwind table) meets them.
#pragma once

#include <link.h>
#include <ucontext.h>

#include <cstdint>

#include "crash/instruction.hpp"
#include "crash/recorder.hpp"

namespace nearfar::crash {

// Returns the original instruction at `address`, without breakpoints.
Instruction instruction_at(std::uint64_t address);

// Sets breakpoints in a loaded file; does nothing if the file has them already. The caller holds
// the lock.
void watch_code(const dl_phdr_info& info, const char* name);
// Notes that from now on, newly loaded code may have flushed before it got breakpoints.
void note_late_loading();
// Notes that code at `address` uses the pool. The code may belong to a file that was loaded in the
// meantime, or to no file.
void note_code(std::uint64_t address);

// Handles a breakpoint: records the flush or fence and skips it. Returns false if the breakpoint is
// not the recorder's.
bool on_breakpoint(ucontext_t* context);
// After a flush, single-steps for a limited number of instructions to find a locked instruction,
// which acts as a fence.
void expect_fence(ucontext_t* context);
// Handles one of these steps; returns false if none is expected.
bool on_expecting_step(ucontext_t* context);

}  // namespace nearfar::crash
