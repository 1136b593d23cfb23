// Accesses of uninstrumented libraries to the program's memory through memcpy and similar
// functions.
//
// The C++ library contains compiled functions of std::string, so the strings' data would seem
// untouched. Therefore the entries for C library functions in the GOT of these libraries are
// redirected to functions that count first. Instrumented code reports its own calls and is not
// redirected.
#pragma once

#include <link.h>

#include <cstddef>

namespace nearfar::profile {

// Counts a range that an uninstrumented function reads or writes in order.
void touched(const void* address, std::size_t bytes, bool store);

// Redirects a loaded file's functions to the counting ones: functions of persistent memory
// libraries always, C library functions unless the file is instrumented.
void count_calls_of(const dl_phdr_info& info);

}  // namespace nearfar::profile
