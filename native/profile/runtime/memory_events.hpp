// Allocated, freed and moved memory, reported by the hooks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profile/runtime/process_file.hpp"
#include "profile/runtime/stack_walk.hpp"

namespace nearfar::profile {

// glibc maps blocks from 128 KiB separately and unmaps them when freed; other allocators may do so
// earlier. Smaller blocks keep their tags until the next allocation.
inline constexpr std::uint64_t unmappable_block = 32 << 10;

// If tags may change, the callers simulate the thread's listed accesses first (pending_access.h).

// Reports a heap block of `size` usable bytes, after the allocator returned it; nothing is recorded
// if the block and its header touch no sampled line. Callers without headers have tested this. The
// allocator has written the `header_bytes` before the block, which costs a line like the block's
// own lines.
void block_allocated(std::uint64_t address, std::uint64_t size, std::uint64_t header_bytes,
                     Call call);

// Report that calloc clears a block, and that realloc copies `size` bytes.
void block_cleared(std::uint64_t address, std::uint64_t size);
void block_copied(std::uint64_t from, std::uint64_t to, std::uint64_t size);

// Reports a heap block before it is freed, because afterwards another thread may get the same
// address. Returns its site, in case a realloc fails; site_none if it had none.
std::uint16_t block_freed(std::uint64_t address, std::uint64_t size);
// Undoes block_freed.
void block_kept(std::uint64_t address, std::uint64_t size, std::uint16_t site);

// Report a block of an allocator in the program or in a library other than the C library. Otherwise
// its memory is counted for its mapping.
void linked_block_allocated(void* block, std::uint64_t size, Call call);
void linked_block_freed(void* block, std::uint64_t size);

// Returns whether a mapping may be made. Under QEMU, mappings that reserve very much address space
// are refused.
bool may_map(std::uint64_t size, bool accessible);
// Reports a new mapping; `path` is the file that is mapped from `offset`, or null for anonymous
// memory.
void range_mapped(std::uint64_t address, std::uint64_t size, bool accessible, const char* path,
                  std::uint64_t offset, Call call);
void range_unmapped(std::uint64_t address, std::uint64_t size);
// Reports a moved or resized mapping, which keeps its site.
void range_moved(std::uint64_t from, std::uint64_t from_size, std::uint64_t to,
                 std::uint64_t to_size);
// Reports reserved address space that became accessible. It counts from now on.
void range_accessible(std::uint64_t address, std::uint64_t size);

// Assigns a piece of memory with a sampled line to the part of its site that `tag` names; if `tag`
// is 0, to the part of its size class.
void range_named(std::uint64_t address, std::uint64_t size, std::uint32_t tag);

// Reports a block inside a mapping. Its bytes are counted for the call from now on, until another
// call gets a block there: the mapping's memory is never free.
void piece_allocated(std::uint64_t address, std::uint64_t size, Call call);

// Registers the data segments of all modules that were loaded since the last call.
void map_modules();

// Returns the site of an untagged address, that of its region or site_unknown, and tags the address
// with it.
std::uint16_t site_of_untagged(std::uint64_t address);

}  // namespace nearfar::profile
