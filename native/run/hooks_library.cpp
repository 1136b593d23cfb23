// dlclose: the addresses of an unloaded library may be reused, so known return addresses in it
// become invalid.
#include <link.h>

#include "base/hooks.hpp"
#include "run/stack_objects.hpp"
#include "run/state.hpp"
#include "run/verb_socket.hpp"

namespace {

// Number of libraries unloaded so far.
unsigned long long unloaded_libraries() {
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
  NEARFAR_NEXT_AS(int (*)(void*), dlclose);
  if (real == nullptr) return -1;
  if (!active) return real(handle);
  const unsigned long long before = unloaded_libraries();
  const int result = real(handle);
  if (unloaded_libraries() != before) {
    forget_stacks();
    tell(NF_RUN_HELLO);  // the verb reads the mappings again
  }
  return result;
}
