// Which loaded file has an address: glibc's _dl_find_object, which takes no lock. glibc has it from
// 2.35 on; wheels also run on 2.34, so nothing may be linked with it.
#pragma once

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <stdlib.h>

struct link_map;

namespace nearfar {

// glibc's dl_find_object on machines of 64 bits, which older headers lack.
struct LoadedObject {
  unsigned long long flags;
  void* begin;
  void* end;
  link_map* map;
  void* unwind_table;  // PT_GNU_EH_FRAME
  unsigned long long reserved[7];
};
#if __GLIBC_PREREQ(2, 35)
static_assert(sizeof(LoadedObject) == sizeof(dl_find_object));
#endif

// Returns 0 if a loaded file has `address`, and describes the file.
using FindObject = int(void* address, LoadedObject* object);

// Returns glibc's function; null before 2.35. Asks for the version first, because dlsym allocates a
// message if a name is missing, and the caller may be the allocator.
inline FindObject* find_object_of_glibc() {
  char* rest = nullptr;
  const unsigned long major = strtoul(gnu_get_libc_version(), &rest, 10);
  const unsigned long minor = *rest == '.' ? strtoul(rest + 1, nullptr, 10) : 0;
  if (major < 2 || (major == 2 && minor < 35)) return nullptr;
  return reinterpret_cast<FindObject*>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
}

}  // namespace nearfar
