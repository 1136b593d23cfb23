// State of the recorder, and its lock.
//
//  pool       file named by NEARFAR_CRASH_POOL; offsets below are in it
//  mapping    a shared, writable mapping of part of it; write-protected, so that stores are seen
//  shadow     the pool as last recorded; a difference from it is a change to record
//  detour     one store, run out of line on a second, writable mapping (detour.hpp)
//  step       one store, run alone (the processor's trap flag) with its page opened, where a detour
//             is impossible
//  open page  a page left writable; its changes are recorded at the next event. Used for
//  rep-prefixed
//             stores, and when max_steps is used up.
#pragma once

#include <cstddef>
#include <cstdint>

#include "crash/trace.h"

namespace nearfar::crash {

// Frames of a stack; few enough for a signal handler's stack.
constexpr unsigned max_frames = 12;

struct Stack {
  std::uint64_t frames[max_frames];
  unsigned count = 0;
};

// Returns the stack of the calling function; `frame_end` is its canonical frame address.
Stack stack_above(std::uint64_t frame_end);
// In a signal handler: returns the stack of the interrupted instruction at `address`. Given the
// program's stack and frame pointers, and if the lock is held, the stack is cached for the next
// store of a loop.
Stack stack_at(std::uint64_t address);
Stack stack_at(std::uint64_t address, std::uint64_t stack_pointer, std::uint64_t frame_pointer);
#define NEARFAR_CRASH_STACK \
  ::nearfar::crash::stack_above(reinterpret_cast<std::uint64_t>(__builtin_dwarf_cfa()))

struct Mapping {
  char* begin = nullptr;
  std::size_t bytes = 0;
  std::uint64_t offset = 0;
  char* writable = nullptr;   // the same part, mapped a second time for the recorder, or null
  std::uint64_t in_file = 0;  // bytes of it within the file's last known size
};
// libpmemobj maps a pool two or three times while it opens the pool.
constexpr unsigned max_mappings = 64;
extern Mapping mappings[max_mappings];

// The lock must be held for everything below. Signal handlers take it too, so its holder must not
// store to the pool.
class Lock {
 public:
  Lock();
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  // Whether the calling thread holds the lock, for signal handlers that interrupt the holder.
  static bool held_here();
};

// Whether this process has the pool mapped.
bool recording();
// Returns the trace's header, or null outside `nearfar crash`.
nf_crash_header* header();

void append(nf_crash_kind kind, std::uint64_t a, std::uint64_t b, const Stack* stack,
            const void* payload, std::uint32_t bytes, std::uint32_t c = 0);
// Returns the number of the calling thread in records.
std::uint32_t this_thread();

const Mapping* mapping_of(const void* address);
struct StoreKind {
  bool is_whole = false;   // the store cannot tear
  bool is_locked = false;  // the store was made by a locked instruction
};
// Orders the thread's stores against those of other threads at a lock, a condition, the end of a
// thread, ...
enum class Sync : std::uint32_t { acquire = 1, release = 2 };
void record_sync(const void* object, Sync sync);
// Returns the address at which the recorder may write `bytes` that belong at `address` of the pool,
// or null.
char* writable_at(const char* address, std::size_t bytes);
// Records how [begin, end) of a mapping differs from the shadow; returns the number of changed
// lines.
unsigned record_changes(const Mapping& mapping, char* begin, char* end, const Stack& stack,
                        StoreKind kind = {});
// Records the words of a line, at `offset` in the pool, that now contain addresses outside the
// pool.
void record_pointers(const char* before, const char* line, std::uint64_t offset,
                     const Stack& stack);
// Records changes of open pages and protects them again.
void record_pending();
// Opens a page until the next event.
void open_until_next_event(char* page, const Stack& stack, StoreKind kind);

// Returns whether a file is the pool; handles mapping and unmapping by the program.
bool is_pool(int file);
void pool_mapped(void* begin, std::size_t bytes, int file, std::uint64_t offset);
void pool_unmapping(void* begin, std::size_t bytes);
void release_pool();
// Records a system call's write to the pool's file as stores that still need a flush.
void record_file_write(int file, std::uint64_t offset, std::uint64_t bytes, const Stack& stack);
// Updates a mapping that was moved or resized.
void remapped(void* before, void* after, std::size_t bytes);

// Record flushes and fences; they take the lock themselves.
void record_flush(const void* address, std::size_t bytes, const Stack& stack,
                  nf_crash_kind kind = NF_CRASH_FLUSH);
void record_flush_all(const Stack& stack);
void record_fence(const Stack& stack);
// clflush is ordered with the stores after it: its line is durable before them without a fence.
void record_line_fence(const void* line, const Stack& stack);
// Return whether this thread stored or flushed, or flushed, since its last fence.
bool has_unfenced_store();
bool has_unfenced_flush();
// Whether the thread is in a function of libpmem, which is recorded as one call.
bool inside_libpmem();

void install_fault_handlers();
// Continues recording in the child of a fork.
void in_child();

}  // namespace nearfar::crash
