#include "profile/runtime/foreign_calls.hpp"

#include <string.h>

#include <initializer_list>

#include "profile/runtime/access.hpp"
#include "profile/runtime/os.hpp"
#include "profile/runtime/pmdk_calls.hpp"
#include "profile/runtime/runtime.hpp"

namespace nearfar::profile {

namespace {

// From a page up the hardware has seen the stream; what is shorter begins anywhere.
constexpr size_t stream_bytes = 4096;

}  // namespace

void touched(const void* address, size_t bytes, bool store) {
  const auto begin = reinterpret_cast<std::uint64_t>(address);
  if (bytes == 0 || !active() || !runtime.lines.any_in(begin, bytes)) return;
  const bool stream = bytes >= stream_bytes;
  access_range(begin, bytes,
               store ? (stream ? in_foreign_stores : in_foreign_store)
                     : (stream ? in_foreign_loads : in_foreign_load),
               store);
}

namespace {

void* counted_memcpy(void* to, const void* from, size_t bytes) {
  touched(from, bytes, false);
  touched(to, bytes, true);
  return memcpy(to, from, bytes);
}

void* counted_memmove(void* to, const void* from, size_t bytes) {
  touched(from, bytes, false);
  touched(to, bytes, true);
  return memmove(to, from, bytes);
}

void* counted_memset(void* to, int value, size_t bytes) {
  touched(to, bytes, true);
  return memset(to, value, bytes);
}

int counted_memcmp(const void* one, const void* other, size_t bytes) {
  const int order = memcmp(one, other, bytes);
  // It ends where they differ, which is most often near the beginning.
  const size_t read = order == 0 || bytes < 64 ? bytes : 64;
  touched(one, read, false);
  touched(other, read, false);
  return order;
}

void* counted_memchr(void* from, int value, size_t bytes) {
  void* found = memchr(from, value, bytes);
  const auto read = static_cast<char*>(found) - static_cast<char*>(from) + 1;
  touched(from, found == nullptr ? bytes : static_cast<size_t>(read), false);
  return found;
}

size_t counted_strlen(const char* text) {
  const size_t length = strlen(text);
  touched(text, length + 1, false);
  return length;
}

struct Counted {
  const char* name;
  void* function;
};

void* counting(const char* name) {
  static const Counted all[] = {
      {"memcpy", reinterpret_cast<void*>(counted_memcpy)},
      {"memmove", reinterpret_cast<void*>(counted_memmove)},
      {"memset", reinterpret_cast<void*>(counted_memset)},
      {"memcmp", reinterpret_cast<void*>(counted_memcmp)},
      {"memchr", reinterpret_cast<void*>(counted_memchr)},
      {"strlen", reinterpret_cast<void*>(counted_strlen)},
  };
  for (const Counted& one : all) {
    if (strcmp(one.name, name) == 0) return one.function;
  }
  return nullptr;
}

// The parts of a file's dynamic section that are needed here.
struct Dynamic {
  const ElfW(Sym) * symbols;
  const char* names;
  const ElfW(Rela) * tables[2];  // functions called; addresses taken
  size_t sizes[2];               // bytes
};

Dynamic dynamic_of(const dl_phdr_info& info) {
  Dynamic found{};
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      // The loader has made most of these addresses; the kernel's own library keeps offsets.
      const auto value = entry->d_un.d_ptr;
      const auto address = value < info.dlpi_addr ? value + info.dlpi_addr : value;
      switch (entry->d_tag) {
        case DT_SYMTAB:
          found.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
          break;
        case DT_STRTAB:
          found.names = reinterpret_cast<const char*>(address);
          break;
        case DT_JMPREL:
          found.tables[0] = reinterpret_cast<const ElfW(Rela)*>(address);
          break;
        case DT_PLTRELSZ:
          found.sizes[0] = value;
          break;
        case DT_RELA:
          found.tables[1] = reinterpret_cast<const ElfW(Rela)*>(address);
          break;
        case DT_RELASZ:
          found.sizes[1] = value;
          break;
        default:
          break;
      }
    }
  }
  return found;
}

template <typename F>
void for_each_function(const Dynamic& dynamic, F f) {
  if (dynamic.symbols == nullptr || dynamic.names == nullptr) return;
  for (unsigned table = 0; table < 2; ++table) {
    const ElfW(Rela)* relocation = dynamic.tables[table];
    if (relocation == nullptr) continue;
    const auto* const end = relocation + dynamic.sizes[table] / sizeof *relocation;
    for (; relocation < end; ++relocation) {
      const auto type = ELF64_R_TYPE(relocation->r_info);
      if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
      const ElfW(Sym)& symbol = dynamic.symbols[ELF64_R_SYM(relocation->r_info)];
      f(dynamic.names + symbol.st_name, symbol.st_shndx == SHN_UNDEF, relocation->r_offset);
    }
  }
}

// The C library's parts call their own memcpy without a table; the loader must not call ours.
bool is_left_alone(const char* path) {
  const char* slash = strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  for (const char* part :
       {"ld-linux", "libc.so", "libpthread", "libdl.", "libgcc_s", "libnearfar_", "linux-vdso"}) {
    if (strncmp(name, part, strlen(part)) == 0) return true;
  }
  return false;
}

// Once written, its page stays writable: a loader that is still at work there writes it too.
void point(ElfW(Addr) place, void* function) {
  // A weak reference that nothing answers: the program asks whether there is such a function.
  if (*reinterpret_cast<void**>(place) == nullptr) return;
  constexpr ElfW(Addr) page = 4096;
  syscall(SYS_mprotect, place & ~(page - 1), page, PROT_READ | PROT_WRITE);
  __atomic_store_n(reinterpret_cast<void**>(place), function, __ATOMIC_RELAXED);
}

}  // namespace

void count_calls_of(const dl_phdr_info& info) {
  if (info.dlpi_name != nullptr && is_left_alone(info.dlpi_name)) return;
  const Dynamic dynamic = dynamic_of(info);
  bool instrumented = false;
  for_each_function(dynamic, [&](const char* name, bool, ElfW(Addr)) {
    instrumented = instrumented || strcmp(name, "__nf_register") == 0;
  });
  for_each_function(dynamic, [&](const char* name, bool undefined, ElfW(Addr) offset) {
    if (!undefined) return;
    void* function = counting_persistence(name);
    // Instrumented code counts its own calls of the C library.
    if (function == nullptr && !instrumented) function = counting(name);
    if (function != nullptr) point(info.dlpi_addr + offset, function);
  });
}

}  // namespace nearfar::profile
