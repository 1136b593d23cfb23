// A library that is closed leaves its addresses to the next one: what was known of return addresses
// there holds no longer.
#include <dlfcn.h>
#include <link.h>

#include "run/ask.hpp"
#include "run/recognise.hpp"
#include "run/state.hpp"

namespace {

// How many libraries were ever closed for good; those that others still use are not.
unsigned long long closed() {
  unsigned long long count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        *static_cast<unsigned long long*>(data) = info->dlpi_subs;
        return 1;
      },
      &count);
  return count;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int dlclose(void* handle) noexcept {
  using namespace nearfar::run;
  static const auto real = reinterpret_cast<int (*)(void*)>(dlsym(RTLD_NEXT, "dlclose"));
  if (real == nullptr) return -1;
  if (mode == Mode::inert) return real(handle);
  const unsigned long long before = closed();
  const int result = real(handle);
  if (closed() != before) {
    forget_stacks();
    tell(NF_RUN_HELLO);  // the verb reads the mappings anew
  }
  return result;
}
