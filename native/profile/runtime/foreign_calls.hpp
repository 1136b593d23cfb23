// What libraries that are not instrumented do to the program's memory through memcpy and its like.
//
// The C++ library holds std::string's functions compiled; the data they copy and compare would
// seem never touched. Their tables of the C library's functions (GOT) are pointed at functions
// that count first. Instrumented code reports its own calls and is left alone, so it pays nothing.
#pragma once

#include <link.h>

#include <cstddef>

namespace nearfar::profile {

// A function that is not instrumented reads or writes a range in order.
void touched(const void* address, std::size_t bytes, bool store);

// Points the entries of one loaded file at the counting functions: those of the libraries of
// persistent memory always, the C library's unless the file is instrumented.
void count_calls_of(const dl_phdr_info& info);

}  // namespace nearfar::profile
