// Answers of the verb that all processes of the run share, in the table's file. Frames are keyed by
// their file and the offset in it, so a child at other addresses finds its parent's answers.
#pragma once

#include <cstdint>

#include "run/table.h"

namespace nearfar::run {

// Keys of a stack's first frame, first two frames and so on.
struct SharedKeys {
  std::uint64_t key[NF_RUN_FRAMES];
  unsigned count;  // less than the stack's if a frame is in no file
};

// Key of a stack of which another key is without the last frame; 0: other processes cannot have the
// frame. Outside of locks, because files are looked up.
std::uint64_t first_key(std::uint32_t root);
std::uint64_t next_key(std::uint64_t before, std::uint64_t frame);

// Outside of locks, because files are looked up. `root`: of tag and size.
SharedKeys shared_keys(std::uint32_t root, const std::uint64_t* frames, unsigned count);

// Sets `answer` to the answer for a stack; returns false if no process has asked for it.
bool find_shared(const SharedKeys& keys, nf_run_answer& answer);
// Returns false if there is no room, or other processes cannot have the frames.
bool share(const SharedKeys& keys, const nf_run_answer& answer);

// The entry of one key: an answer, or the way to one. False: there is none.
bool find_shared(std::uint64_t key, nf_run_shared& entry);
// A step of the way to a shared answer; not stored where the table is half full.
void share_step(std::uint64_t key, std::uint32_t step);

// Forgets the files after a library was unloaded.
void forget_files();

}  // namespace nearfar::run
