// Operators of C++ under `nearfar run`: blocks of new and new[], without memory, and, compiled with
// -DPLAIN_REPLACED, those of a program that replaces the plain operators alone. With -DHEADERS it is
// a library that replaces some, with -DHAS_HEADERS the program that has it. Checks itself.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <new>
#include <vector>

#if defined PLAIN_REPLACED || defined HEADERS
#define HAS_HEADERS
long made, taken;

// Its blocks begin after a header, so no other allocator can free them.
static void* make_block(size_t size) {
  char* block = static_cast<char*>(malloc(size + 32));
  if (block == nullptr) return nullptr;
  memcpy(block, "replaced", 8);
  ++made;
  return block + 32;
}

void* operator new(size_t size) {
  void* block = make_block(size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void operator delete(void* block) noexcept {
  if (block == nullptr) return;
  char* whole = static_cast<char*>(block) - 32;
  if (memcmp(whole, "replaced", 8) != 0) abort();
  ++taken;
  free(whole);
}
#elif defined HAS_HEADERS
extern long made, taken;
#endif

#ifdef HEADERS
void* operator new(size_t size, const std::nothrow_t&) noexcept { return make_block(size); }
void operator delete(void* block, size_t) noexcept { operator delete(block); }
#else
static int handled;
static void handler() {
  if (++handled == 2) std::set_new_handler(nullptr);
}

struct Item {
  char bytes[100];
};

[[gnu::noinline]] static Item* make_near() { return new Item(); }
[[gnu::noinline]] static Item* make_far() { return new Item(); }
[[gnu::noinline]] static Item* make_rows(size_t count) { return new Item[count]; }

#ifdef PLUGIN
extern "C" int run_plugin() {
#else
int main() {
#endif
  constexpr size_t count = 20000;
  std::vector<Item*> items;
  for (size_t i = 0; i < count; ++i) {
    items.push_back(i % 2 == 0 ? make_near() : make_far());
    memset(items.back(), static_cast<int>(i % 100), sizeof(Item));
  }
  Item* rows = make_rows(count);
  memset(rows, 1, count * sizeof(Item));
  for (size_t i = 0; i < count; ++i) {
    if (items[i]->bytes[99] != static_cast<char>(i % 100)) return 2;
    delete items[i];
  }
  delete[] rows;
  delete new (std::nothrow) Item();
  delete[] new (std::nothrow) Item[2];
  operator delete(new Item(), std::nothrow);
  // No machine has so much: handlers are called, then it throws.
  const volatile size_t too_much = SIZE_MAX / 4;
  std::set_new_handler(handler);
  bool thrown = false;
  try {
    char* none = new char[too_much];
    printf("%p\n", static_cast<void*>(none));
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  if (!thrown) return 3;
  if (new (std::nothrow) char[too_much] != nullptr) return 6;
#ifdef HAS_HEADERS
  if (made < static_cast<long>(count) + 1 || taken < made - 2) return 4;
#else
  if (handled != 2) return 5;
#endif
  return 0;
}
#endif
