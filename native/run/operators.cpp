#include "run/operators.hpp"

#include <dlfcn.h>
#include <string.h>

namespace nearfar::run {

bool operators_served;

namespace {

constexpr const char* names[operator_count] = {
    "_Znwm",
    "_Znam",
    "_ZnwmRKSt9nothrow_t",
    "_ZnamRKSt9nothrow_t",
    "_ZdlPv",
    "_ZdlPvm",
    "_ZdlPvRKSt9nothrow_t",
    "_ZdaPv",
    "_ZdaPvm",
    "_ZdaPvRKSt9nothrow_t",
};

bool decided;
bool replaced;
void* forms[operator_count];

bool is_in_this_library(const void* address) {
  Dl_info info{};
  Dl_info own{};
  return dladdr(address, &info) != 0 && dladdr(names, &own) != 0 && info.dli_fbase == own.dli_fbase;
}

bool is_in_runtime(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return false;
  const char* slash = strrchr(info.dli_fname, '/');
  const char* name = slash == nullptr ? info.dli_fname : slash + 1;
  // This also matches libc++abi.
  return strncmp(name, "libstdc++", 9) == 0 || strncmp(name, "libc++", 6) == 0;
}

// Decides for all forms together, because a replaced delete may only get blocks of its own new. For
// each form, the next definition after this library is the right one: the form in the C++ library
// calls the plain form, whether that is replaced or not.
void decide() {
  bool any = false;
  void* nexts[operator_count] = {};
  for (unsigned form = 0; form < operator_count; ++form) {
    void* first = dlsym(RTLD_DEFAULT, names[form]);
    nexts[form] = dlsym(RTLD_NEXT, names[form]);
    const bool before = first != nullptr && !is_in_this_library(first);
    any |= before || (nexts[form] != nullptr && !is_in_runtime(nexts[form]));
    if (nexts[form] == nullptr && before) nexts[form] = first;
  }
  // A program with a statically linked C++ library may lack some forms.
  for (unsigned form = 0; form < operator_count; ++form) {
    void* plain = nexts[form < delete_plain ? new_plain : delete_plain];
    __atomic_store_n(&forms[form], nexts[form] == nullptr ? plain : nexts[form], __ATOMIC_RELAXED);
  }
  __atomic_store_n(&replaced, any, __ATOMIC_RELAXED);
  __atomic_store_n(&operators_served, !any, __ATOMIC_RELAXED);
  __atomic_store_n(&decided, true, __ATOMIC_RELEASE);
}

// Returns the operator in the libraries that `file` needs; null if only this library has it.
void* operator_for(const char* file, Operator form) {
  void* library = file == nullptr ? nullptr : dlopen(file, RTLD_NOLOAD | RTLD_LAZY);
  if (library == nullptr) return nullptr;
  void* address = dlsym(library, names[form]);
  dlclose(library);
  return address == nullptr || is_in_this_library(address) ? nullptr : address;
}

}  // namespace

void* replaced_operator(Operator form) {
  if (!__atomic_load_n(&decided, __ATOMIC_ACQUIRE)) decide();
  return __atomic_load_n(&replaced, __ATOMIC_RELAXED)
             ? __atomic_load_n(&forms[form], __ATOMIC_RELAXED)
             : nullptr;
}

void* operator_without_memory(Operator form, const void* caller) {
  if (void* next = dlsym(RTLD_NEXT, names[form])) return next;
  // A plugin has loaded the C++ library, so its names are not visible to the program.
  Dl_info info{};
  void* address = dladdr(caller, &info) == 0 ? nullptr : operator_for(info.dli_fname, form);
  return address == nullptr ? operator_for("libstdc++.so.6", form) : address;
}

}  // namespace nearfar::run
