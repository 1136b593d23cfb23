// The memories of the table: room in them, and what is behind addresses.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "run/state.hpp"

namespace nearfar::run {

// Puts addresses into a memory: binds or maps them. False: it has no room, or cannot be opened.
bool put(std::uint64_t begin, std::uint64_t bytes, std::uint32_t number);

// Binds what was mapped anew over addresses that are in a memory already.
void bind_again(std::uint64_t begin, std::uint64_t bytes, std::uint32_t number);

// Bytes that a memory holds at most.
std::uint64_t limit_of(const nf_run_memory& memory);
// Takes a row of the table: from now on it says what this process has.
void become_user();
// Gives all back, at the program's end.
void leave_memories();
// Room that is no longer used; where such room can be used again.
void give_back(nf_run_memory& memory, std::uint64_t bytes);

// Whether a process shares such memory with its fork's child.
inline bool is_file(std::uint32_t number) { return table->memories[number].kind >= NF_RUN_FILE; }

// In the child of a fork: forgets the files that it shares with its parent, but leaves them open
// until `close_inherited`.
struct File {
  int descriptor_plus_one;
  std::uint64_t next_offset;  // so much of it is used
  dev_t device;
  ino_t number;
};
struct Inherited {
  File files[NF_RUN_MEMORIES];
};
Inherited leave_files();
void close_inherited(const Inherited& files);
void memories_in_child();

}  // namespace nearfar::run
