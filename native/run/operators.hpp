// The C++ operators that a program would have without this library.
#pragma once

#include <cstddef>

namespace nearfar::run {

enum Operator : unsigned {
  new_plain,
  new_array,
  new_nothrow,
  new_array_nothrow,
  delete_plain,
  delete_sized,
  delete_nothrow,
  delete_array,
  delete_array_sized,
  delete_array_nothrow,
  operator_count
};

// Whether all operators of the program are known to be the C++ library's, so that this library
// serves instead.
extern bool operators_served;

// Returns the replaced operator that must serve; null if this library serves.
void* replaced_operator(Operator form);

// Returns the C++ library's operator for the code at `caller`; it calls new-handlers and throws.
void* operator_without_memory(Operator form, const void* caller);

}  // namespace nearfar::run
