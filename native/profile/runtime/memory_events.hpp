// What the hooks report: memory that came, went or moved.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profile/runtime/process_file.hpp"
#include "profile/runtime/stack_walk.hpp"

namespace nearfar::profile {

// A heap block of `size` usable bytes now is at `address`. Called after the allocator returned it.
// `header_bytes` before the block are the allocator's, which wrote them: a line that the block
// costs like those that it fills.
void block_allocated(std::uint64_t address, std::uint64_t size, std::uint64_t header_bytes,
                     Call call);

// calloc cleared a block; realloc moved `size` bytes.
void block_cleared(std::uint64_t address, std::uint64_t size);
void block_copied(std::uint64_t from, std::uint64_t to, std::uint64_t size);

// The heap block is about to be freed: before, because another thread may get the same address
// the moment it is. Returns its site, for a realloc that fails; site_none if it had none.
std::uint16_t block_freed(std::uint64_t address, std::uint64_t size);
// Undoes block_freed.
void block_kept(std::uint64_t address, std::uint64_t size, std::uint16_t site);

// mmap returned this range; `path` names the file, null for anonymous memory.
void range_mapped(std::uint64_t address, std::uint64_t size, bool accessible, const char* path,
                  Call call);
void range_unmapped(std::uint64_t address, std::uint64_t size);
// mremap moved or resized a range; its site goes with it.
void range_moved(std::uint64_t from, std::uint64_t from_size, std::uint64_t to,
                 std::uint64_t to_size);
// Reserved address space became memory: it counts from now on.
void range_accessible(std::uint64_t address, std::uint64_t size);

// Data segments of every loaded module, and what was loaded since.
void map_modules();

// Site of an address that no tag knows: a region's, or site_unknown; tags it.
std::uint16_t site_of_untagged(std::uint64_t address);

}  // namespace nearfar::profile
