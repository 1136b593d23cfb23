// The verb's answers, shared by all processes of the run in the table's file. A frame's key
// consists of its file and the offset in it, so that a child finds its parent's answers even at
// other addresses.
#pragma once

#include <cstdint>

#include "run/table.h"

namespace nearfar::run {

// Keys of a stack's first frame, first two frames, and so on.
struct SharedKeys {
  std::uint64_t key[NF_RUN_FRAMES];
  unsigned count;  // less than the number of frames if a frame is in no file
};

// Must be called before all others, when the library starts.
void start_shared_answers();

// Returns the key of a stack that has one frame more than the stack of `before`; 0 if other
// processes cannot have the frame. Must be called outside locks, because it looks up files.
std::uint64_t first_key(std::uint32_t root);
std::uint64_t next_key(std::uint64_t before, std::uint64_t frame);

// Must be called outside locks, because it looks up files. `root`: identifies tag and size.
SharedKeys shared_keys(std::uint32_t root, const std::uint64_t* frames, unsigned count);

// Sets `answer` to the answer for a stack; returns false if no process has asked for it.
bool find_shared(const SharedKeys& keys, nf_run_answer& answer);
// Shares an answer; returns false if there is no space or other processes cannot have the frames.
bool share(const SharedKeys& keys, const nf_run_answer& answer);

// Sets `entry` to the entry of a key: an answer, or a step of the way to one. Returns false if
// there is none.
bool find_shared(std::uint64_t key, nf_run_shared& entry);
// Stores a step of the way to a shared answer, unless the table is half full.
void share_step(std::uint64_t key, std::uint32_t step);

// Clears the cache of files after a library was unloaded.
void forget_files();

}  // namespace nearfar::run
