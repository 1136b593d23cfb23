// jemalloc under its own prefix: the archive's public symbols are renamed when it is linked
// (CMakeLists.txt), and what it wants from the kernel comes to nf_os_mmap (places.cpp).
#pragma once

#define JEMALLOC_NO_RENAME
#include <jemalloc/jemalloc.h>
