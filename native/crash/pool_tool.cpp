// nearfar_crash_pool: inspects a libpmemobj pool. Opening the pool runs its recovery.
//
//   check POOL     exit code 0 if libpmemobj finds it consistent; else prints the reason
//   objects POOL   one line per object: its offset, usable bytes, type number, and whether it is
//                  reachable from the root; the root comes first, with type -1
//
// It is not linked to libpmemobj, so that it can be built without it.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "nearfar/crash.h"

namespace {

struct Oid {
  std::uint64_t pool;
  std::uint64_t offset;
};

struct Library {
  void* (*open)(const char*, const char*);
  void (*close)(void*);
  int (*check)(const char*, const char*);
  const char* (*errormsg)();
  Oid (*first)(void*);
  Oid (*next)(Oid);
  Oid (*root)(void*, std::size_t);
  std::size_t (*root_size)(void*);
  std::size_t (*usable_size)(Oid);
  std::uint64_t (*type_num)(Oid);
  const unsigned char* (*direct)(Oid);
};

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool load(Library& functions) {
  void* const library = dlopen("libpmemobj.so.1", RTLD_NOW | RTLD_GLOBAL);
  return library != nullptr && find(library, "pmemobj_open", functions.open) &&
         find(library, "pmemobj_close", functions.close) &&
         find(library, "pmemobj_check", functions.check) &&
         find(library, "pmemobj_errormsg", functions.errormsg) &&
         find(library, "pmemobj_first", functions.first) &&
         find(library, "pmemobj_next", functions.next) &&
         find(library, "pmemobj_root", functions.root) &&
         find(library, "pmemobj_root_size", functions.root_size) &&
         find(library, "pmemobj_alloc_usable_size", functions.usable_size) &&
         find(library, "pmemobj_type_num", functions.type_num) &&
         find(library, "pmemobj_direct", functions.direct);
}

struct Object {
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t type;
  const unsigned char* content;
  bool is_reached;
};

// Marks objects that words of `object` point into, and adds them to `todo`.
void follow(const Object& object, std::vector<Object>& objects, std::vector<std::size_t>& todo) {
  for (std::uint64_t at = 0; at + sizeof(std::uint64_t) <= object.bytes; at += sizeof at) {
    std::uint64_t word = 0;
    memcpy(&word, object.content + at, sizeof word);
    auto after = std::upper_bound(
        objects.begin(), objects.end(), word,
        [](std::uint64_t offset, const Object& other) { return offset < other.offset; });
    if (after == objects.begin()) continue;
    Object& other = *--after;
    if (other.is_reached || word >= other.offset + other.bytes) continue;
    other.is_reached = true;
    todo.push_back(static_cast<std::size_t>(after - objects.begin()));
  }
}

int list(const Library& library, const char* path) {
  void* const pool = library.open(path, nullptr);
  if (pool == nullptr) return printf("! %s\n", library.errormsg()), 1;
  std::vector<Object> objects;
  for (Oid at = library.first(pool); at.offset != 0; at = library.next(at)) {
    objects.push_back(
        {at.offset, library.usable_size(at), library.type_num(at), library.direct(at), false});
  }
  std::sort(objects.begin(), objects.end(),
            [](const Object& a, const Object& b) { return a.offset < b.offset; });
  const std::uint64_t bytes = library.root_size(pool);
  if (bytes != 0) {
    const Oid root = library.root(pool, 0);
    printf("%llu %llu -1 1\n", static_cast<unsigned long long>(root.offset),
           static_cast<unsigned long long>(bytes));
    std::vector<std::size_t> todo;
    follow({root.offset, bytes, 0, library.direct(root), true}, objects, todo);
    while (!todo.empty()) {
      const Object object = objects[todo.back()];
      todo.pop_back();
      follow(object, objects, todo);
    }
  }
  for (const Object& object : objects) {
    printf("%llu %llu %llu %d\n", static_cast<unsigned long long>(object.offset),
           static_cast<unsigned long long>(object.bytes),
           static_cast<unsigned long long>(object.type), object.is_reached ? 1 : 0);
  }
  library.close(pool);
  return 0;
}

int check(const char* path, long, long) {
  static Library library;
  static const bool is_loaded = load(library);
  if (!is_loaded) return printf("libpmemobj.so.1 is not installed\n"), 3;
  const int answer = library.check(path, nullptr);
  if (answer == 1) return 0;
  printf("libpmemobj: %s\n", answer == 0 ? "the pool is not consistent" : library.errormsg());
  fflush(stdout);
  return 1;
}

}  // namespace

NEARFAR_CRASH_CHECKER(check)

int main(int count, char** words) {
  if (count == 3 && strcmp(words[1], "check") == 0) return check(words[2], -1, -1);
  Library library{};
  if (count != 3 || strcmp(words[1], "objects") != 0) {
    fprintf(stderr, "usage: %s check|objects POOL\n", words[0]);
    return 2;
  }
  if (!load(library)) return fprintf(stderr, "libpmemobj.so.1 is not installed\n"), 3;
  return list(library, words[2]);
}
