#include "bench/durability.hpp"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#ifdef NEARFAR_HAVE_PMEM
#include <libpmem.h>
#endif

namespace nearfar::bench {
namespace {

bool set(const char* variable) {  // the way libpmem reads its variables
  const char* text = std::getenv(variable);
  return text != nullptr && std::strcmp(text, "1") == 0;
}

// Returns the flush instruction that libpmem uses on this processor, as set by its variables.
std::string flush_instruction() {
#ifdef NEARFAR_HAVE_PMEM
  if (pmem_has_auto_flush() == 1) return "fence only (caches survive a power cut here)";
#endif
  if (set("PMEM_NO_FLUSH")) return "fence only (PMEM_NO_FLUSH)";
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) {
    constexpr unsigned clwb = 1U << 24U;
    constexpr unsigned clflushopt = 1U << 23U;
    if ((b & clwb) != 0 && !set("PMEM_NO_CLWB")) return "clwb";
    if ((b & clflushopt) != 0 && !set("PMEM_NO_CLFLUSHOPT")) return "clflushopt";
  }
  return "clflush";
#else
  return "the processor's cache clean instruction";
#endif
}

}  // namespace

Durability durability_of(const std::string& path, bool is_pmem) {
  struct statfs system {};
  const bool known = statfs(path.c_str(), &system) == 0;
  const bool tmpfs = known && system.f_type == TMPFS_MAGIC;
  const std::string by = is_pmem ? flush_instruction() : "msync";
  if (tmpfs) return {by, "nothing: tmpfs is not persistent"};
  if (!is_pmem) return {by, "a power cut, if the disk honours synchronisation"};
  if (set("PMEM_IS_PMEM_FORCE")) {
    return {by, "nothing, unless the file's pages are persistent memory (PMEM_IS_PMEM_FORCE=1)"};
  }
  return {by, "a power cut (the file is mapped persistent memory)"};
}

}  // namespace nearfar::bench
