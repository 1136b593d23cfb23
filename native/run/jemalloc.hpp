// jemalloc with the prefix je_. CMakeLists.txt renames the archive's public symbols and redirects
// its calls of mmap to nf_os_mmap (placement.cpp).
#pragma once

#define JEMALLOC_NO_RENAME
#include <jemalloc/jemalloc.h>
