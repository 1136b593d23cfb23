// What libraries that are not instrumented do to the program's memory through memcpy and its like.
//
// The C++ library holds std::string's functions compiled; the data they copy and compare would
// seem never touched. Their tables of the C library's functions (GOT) are pointed at functions
// that count first. Instrumented code reports its own calls and is left alone, so it pays nothing.
#pragma once

#include <link.h>

namespace nearfar::profile {

// Points the entries of one loaded file at the counting functions, unless it is instrumented.
void count_calls_of(const dl_phdr_info& info);

}  // namespace nearfar::profile
