// What a statically linked unwinder of libgcc calls in place of glibc's _dl_find_object.
#pragma once

#include "base/find_object.hpp"

#pragma GCC visibility push(hidden)

namespace nearfar {

// Finds files by dl_iterate_phdr, as unwinders did before glibc 2.35: it takes the loader's lock,
// but allocates nothing. Leaves `map` null. Finds only files with an unwind table.
FindObject find_object_by_headers;

// The function in use: glibc's, or find_object_by_headers where glibc has none.
extern FindObject* unwinder_find_object;

}  // namespace nearfar

#pragma GCC visibility pop
