// The recorder: what is known of the pool, and the one lock around it.
//
// pool      the file named by NEARFAR_CRASH_POOL; offsets below are in it
// mapping   a shared, writable mapping of a part of it; write-protected, so that stores are seen
// shadow    the pool as it was last told of; what differs from it is news
// step      one store, run alone (the processor's trap flag) with its page opened
// loose     a page left open, its news told at the next event: rep-prefixed stores, too many steps
#pragma once

#include <cstddef>
#include <cstdint>

#include "crash/trace.h"

namespace nearfar::crash {

// As many as fit a signal handler's stack without thought; deeper callers tell nobody more.
constexpr unsigned most_frames = 12;

struct Stack {
  std::uint64_t frames[most_frames];
  unsigned count = 0;
};

// Of the function that calls it: `frame_end` is its own canonical frame address.
Stack stack_above(std::uint64_t frame_end);
// From inside a signal handler: of the instruction at `address` that was interrupted.
Stack stack_at(std::uint64_t address);
#define NEARFAR_CRASH_STACK \
  ::nearfar::crash::stack_above(reinterpret_cast<std::uint64_t>(__builtin_dwarf_cfa()))

struct Mapping {
  char* begin = nullptr;
  std::size_t bytes = 0;
  std::uint64_t offset = 0;
};
// libpmemobj maps a pool two or three times while it opens it.
constexpr unsigned most_mappings = 64;
extern Mapping mappings[most_mappings];

// Everything below is called with it held; signal handlers take it too, so nothing that holds it
// may touch the pool but to read it.
class Lock {
 public:
  Lock();
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  // Whether the calling thread holds it already: a signal handler may have come in between.
  static bool held_here();
};

// True between the first mapping of the pool and its last unmapping, in the process that has it.
bool recording();
// The header, or null where the program does not run under nearfar crash.
nf_crash_header* header();

void append(nf_crash_kind kind, std::uint64_t a, std::uint64_t b, const Stack* stack,
            const void* payload, std::uint32_t bytes, std::uint32_t c = 0);
// Number of the calling thread, as records name it.
std::uint32_t this_thread();

const Mapping* mapping_of(const void* address);
// Tells what differs from the shadow in [begin, end) of a mapping; returns the lines that did.
// `is_whole`: by an instruction whose store cannot tear.
unsigned tell_news(const Mapping& mapping, char* begin, char* end, const Stack& stack,
                   bool is_whole = false);
// Tells of words that changed, in a line at `offset` of the pool, to addresses outside the pool.
void look_for_pointers(const char* before, const char* line, std::uint64_t offset,
                       const Stack& stack);
// Tells the news of loose pages and protects them again.
void sweep();
// Opens the page of `address` until the next sweep.
void open_loosely(char* page, const Stack& stack);

// Mapped or unmapped by the program, seen after the system did it.
bool is_pool(int file);
void pool_mapped(void* begin, std::size_t bytes, int file, std::uint64_t offset);
void pool_unmapping(void* begin, std::size_t bytes);
void let_go();
// The program wrote to the pool's file by a system call: stores that a flush has yet to cover.
void written(int file, std::uint64_t offset, std::uint64_t bytes, const Stack& stack);
// A mapping was moved or resized; the lock is held.
void remapped(void* before, void* after, std::size_t bytes);

// The three events of persistence; they take the lock.
void flushed(const void* address, std::size_t bytes, const Stack& stack,
             nf_crash_kind kind = NF_CRASH_FLUSH);
void flushed_all(const Stack& stack);
void fenced(const Stack& stack);

void watch_faults();
// In a child that forked: it goes on telling.
void in_child();

}  // namespace nearfar::crash
