// Operators of C++ under `nearfar run`: blocks of new and new[], without memory, and, compiled with
// -DPLAIN_REPLACED, those of a program that replaces the plain operators alone. Checks itself.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <new>
#include <vector>

#ifdef PLAIN_REPLACED
static long made, taken;

// Its blocks begin after a header, so no other allocator can free them.
void* operator new(size_t size) {
  char* block = static_cast<char*>(malloc(size + 32));
  if (block == nullptr) throw std::bad_alloc();
  memcpy(block, "replaced", 8);
  ++made;
  return block + 32;
}

void operator delete(void* block) noexcept {
  if (block == nullptr) return;
  char* whole = static_cast<char*>(block) - 32;
  if (memcmp(whole, "replaced", 8) != 0) abort();
  ++taken;
  free(whole);
}
#endif

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

int main() {
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
#ifdef PLAIN_REPLACED
  if (made < static_cast<long>(count) + 1 || taken < made - 2) return 4;
#else
  if (handled != 2) return 5;
#endif
  return 0;
}
