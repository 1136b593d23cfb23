#include "base/static_unwinder.hpp"

#include <link.h>

#include <algorithm>
#include <cstdint>

namespace nearfar {

namespace {

struct Search {
  std::uint64_t address;
  LoadedObject* object;
};

int visit(dl_phdr_info* file, std::size_t, void* data) {
  const auto& search = *static_cast<Search*>(data);
  std::uint64_t begin = UINT64_MAX;
  std::uint64_t end = 0;
  std::uint64_t unwind_table = 0;
  bool contains = false;
  for (unsigned i = 0; i < file->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = file->dlpi_phdr[i];
    const std::uint64_t first = file->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) unwind_table = first;
    if (segment.p_type != PT_LOAD) continue;
    contains |= search.address - first < segment.p_memsz;
    begin = std::min(begin, first);
    end = std::max(end, first + segment.p_memsz);
  }
  if (!contains) return 0;
  *search.object = {};
  search.object->begin = reinterpret_cast<void*>(begin);
  search.object->end = reinterpret_cast<void*>(end);
  search.object->unwind_table = reinterpret_cast<void*>(unwind_table);
  return 1;
}

}  // namespace

int find_object_by_headers(void* address, LoadedObject* object) {
  Search search{reinterpret_cast<std::uint64_t>(address), object};
  return dl_iterate_phdr(visit, &search) == 1 && object->unwind_table != nullptr ? 0 : -1;
}

namespace {

void choose() {
  FindObject* const found = find_object_of_glibc();
  unwinder_find_object = found != nullptr ? found : find_object_by_headers;
}

// For other early constructors that unwind.
int choose_and_find(void* address, LoadedObject* object) {
  choose();
  return unwinder_find_object(address, object);
}

// Not at the first unwinding, which may be in a signal handler: dlsym takes the loader's lock.
__attribute__((constructor(101))) void choose_early() { choose(); }

}  // namespace

FindObject* unwinder_find_object = choose_and_find;

}  // namespace nearfar

// Another name in C++, because headers of glibc 2.35 declare this one.
extern "C" __attribute__((visibility("hidden"))) int nearfar_dl_find_object(
    void* address, nearfar::LoadedObject* object) asm("_dl_find_object");
int nearfar_dl_find_object(void* address, nearfar::LoadedObject* object) {
  return nearfar::unwinder_find_object(address, object);
}
