#include "profile/runtime/hooks.hpp"

#include <dlfcn.h>

namespace nearfar::profile {

RealFunctions real;

void find_real_functions() {
  RealFunctions found{};
#define NEARFAR_FIND(name, result, parameters) \
  found.name = reinterpret_cast<result(*) parameters>(dlsym(RTLD_NEXT, #name));
  NEARFAR_HOOKS(NEARFAR_FIND)
#undef NEARFAR_FIND
  real = found;
}

namespace {
// Before main there is one thread; later calls find the functions found.
__attribute__((constructor(101))) void find_early() { find_real_functions(); }
}  // namespace

}  // namespace nearfar::profile
