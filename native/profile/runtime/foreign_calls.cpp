#include "profile/runtime/foreign_calls.hpp"

#include <string.h>

#include <initializer_list>

#include "profile/runtime/access.hpp"
#include "profile/runtime/os.hpp"
#include "profile/runtime/pmdk_calls.hpp"
#include "profile/runtime/runtime.hpp"

namespace nearfar::profile {

namespace {

// Accesses of at least a page count as a stream, because prefetchers have detected it by then.
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

int counted_memcmp(const void* first, const void* second, size_t bytes) {
  const int order = memcmp(first, second, bytes);
  // The comparison ends at the first difference, usually near the beginning.
  const size_t read = order == 0 || bytes < 64 ? bytes : 64;
  touched(first, read, false);
  touched(second, read, false);
  return order;
}

void* counted_memchr(void* from, int value, size_t bytes) {
  void* match = memchr(from, value, bytes);
  const auto read = static_cast<char*>(match) - static_cast<char*>(from) + 1;
  touched(from, match == nullptr ? bytes : static_cast<size_t>(read), false);
  return match;
}

size_t counted_strlen(const char* text) {
  const size_t length = strlen(text);
  touched(text, length + 1, false);
  return length;
}

struct CountingFunction {
  const char* name;
  void* function;
};

void* counting(const char* name) {
  static const CountingFunction all[] = {
      {"memcpy", reinterpret_cast<void*>(counted_memcpy)},
      {"memmove", reinterpret_cast<void*>(counted_memmove)},
      {"memset", reinterpret_cast<void*>(counted_memset)},
      {"memcmp", reinterpret_cast<void*>(counted_memcmp)},
      {"memchr", reinterpret_cast<void*>(counted_memchr)},
      {"strlen", reinterpret_cast<void*>(counted_strlen)},
  };
  for (const CountingFunction& counting_function : all) {
    if (strcmp(counting_function.name, name) == 0) return counting_function.function;
  }
  return nullptr;
}

// The needed parts of a file's dynamic section.
struct Dynamic {
  const ElfW(Sym) * symbols;
  const char* names;
  const ElfW(Rela) * tables[2];  // relocations of called functions, and of address constants
  size_t sizes[2];               // bytes
};

Dynamic dynamic_of(const dl_phdr_info& info) {
  Dynamic dynamic{};
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      // The loader has relocated most of these addresses; in the vDSO they are still offsets.
      const auto value = entry->d_un.d_ptr;
      const auto address = value < info.dlpi_addr ? value + info.dlpi_addr : value;
      switch (entry->d_tag) {
        case DT_SYMTAB:
          dynamic.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
          break;
        case DT_STRTAB:
          dynamic.names = reinterpret_cast<const char*>(address);
          break;
        case DT_JMPREL:
          dynamic.tables[0] = reinterpret_cast<const ElfW(Rela)*>(address);
          break;
        case DT_PLTRELSZ:
          dynamic.sizes[0] = value;
          break;
        case DT_RELA:
          dynamic.tables[1] = reinterpret_cast<const ElfW(Rela)*>(address);
          break;
        case DT_RELASZ:
          dynamic.sizes[1] = value;
          break;
        default:
          break;
      }
    }
  }
  return dynamic;
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

// The C library calls its own memcpy directly, and the loader must not call ours.
bool is_excluded(const char* path) {
  const char* slash = strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  for (const char* part :
       {"ld-linux", "libc.so", "libpthread", "libdl.", "libgcc_s", "libnearfar_", "linux-vdso"}) {
    if (strncmp(name, part, strlen(part)) == 0) return true;
  }
  return false;
}

// The page stays writable, because a loader that has not finished also writes to it.
void redirect(ElfW(Addr) slot, void* function) {
  // An unresolved weak reference stays null: the program tests whether the function exists.
  if (*reinterpret_cast<void**>(slot) == nullptr) return;
  constexpr ElfW(Addr) page = 4096;
  syscall(SYS_mprotect, slot & ~(page - 1), page, PROT_READ | PROT_WRITE);
  __atomic_store_n(reinterpret_cast<void**>(slot), function, __ATOMIC_RELAXED);
}

}  // namespace

void count_calls_of(const dl_phdr_info& info) {
  if (info.dlpi_name != nullptr && is_excluded(info.dlpi_name)) return;
  const Dynamic dynamic = dynamic_of(info);
  bool instrumented = false;
  for_each_function(dynamic, [&](const char* name, bool, ElfW(Addr)) {
    instrumented = instrumented || strcmp(name, "__nf_register") == 0;
  });
  for_each_function(dynamic, [&](const char* name, bool undefined, ElfW(Addr) offset) {
    if (!undefined) return;
    void* function = counting_persistence(name);
    // Instrumented code reports its own calls to the C library.
    if (function == nullptr && !instrumented) function = counting(name);
    if (function != nullptr) redirect(info.dlpi_addr + offset, function);
  });
}

}  // namespace nearfar::profile
