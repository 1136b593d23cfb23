// The memories of the table: their free space, and how they back addresses.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "run/state.hpp"

namespace nearfar::run {

// Policy of pages. Pages that the verb moves have a policy in near memory too, so that NUMA
// balancing does not move them; on Linux 6.1 to 6.5, this hides pages at rest from queries of their
// node. `moves_apart` is the same policy in another form, for a range that must remain a separate
// mapping.
enum class Policy : std::uint8_t { of_memory, moves, moves_apart };

// Binds, maps or locks addresses to a memory; returns false if it is full or cannot be opened.
bool place_in_memory(std::uint64_t begin, std::uint64_t bytes, std::uint32_t number,
                     Policy policy = Policy::of_memory);

// Applies the policy to a new mapping over addresses that are already in a memory.
void bind_again(std::uint64_t begin, std::uint64_t bytes, std::uint32_t number);

// Moves the existing pages of bound addresses to their memory, if its nodes are known.
void move_to_memory(std::uint64_t begin, std::uint64_t bytes, std::uint32_t number, Policy policy);

// Returns the capacity of a memory in bytes.
std::uint64_t limit_of(const nf_run_memory& memory);
// Reserves a row of the table for this process's bytes.
void register_process();
// Frees all bytes of this process when the program ends.
void unregister_process();
// Returns unused bytes to a memory if its bytes can be reused.
void return_bytes(nf_run_memory& memory, std::uint64_t bytes);

// Whether a process shares this memory with the child of its fork.
inline bool is_file(std::uint32_t number) {
  const std::uint32_t kind = table->memories[number].kind;
  return kind == NF_RUN_FILE || kind == NF_RUN_DEVICE;
}

// For the child of a fork: forgets the files that it shares with its parent, but leaves them open
// until `close_inherited`.
struct File {
  int descriptor_plus_one;
  std::uint64_t next_offset;  // bytes of the file in use
  dev_t device;
  ino_t number;
};
struct Inherited {
  File files[NF_RUN_MEMORIES];
};
Inherited detach_files();
void close_inherited(const Inherited& files);
void memories_in_child();

}  // namespace nearfar::run
