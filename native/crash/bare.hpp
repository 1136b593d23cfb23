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

// The instruction at `address`, as it was without breakpoints.
Instruction instruction_at(std::uint64_t address);

// Puts breakpoints into a loaded file; again for the same file it does nothing. The lock is held.
void watch_code(const dl_phdr_info& info, const char* name);
// From here on, flushes of newly loaded code may have been missed already.
void watching_ends();
// Notes that code at `address` uses the pool: it may belong to a file loaded meanwhile, or to none.
void note_code(std::uint64_t address);

// At a breakpoint: records the flush or fence and skips it. False: it is not ours.
bool on_breakpoint(ucontext_t* context);
// Begins looking for a locked instruction, which is a fence too: after a flush, for some steps.
void expect_fence(ucontext_t* context);
// After a step while one is expected: false if none is.
bool on_expecting_step(ucontext_t* context);

}  // namespace nearfar::crash
