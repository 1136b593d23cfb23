// A list, a table, a map and a block that grows, allocated through an allocator that is linked in.
#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include <vector>

#if defined(PREFIXED)
extern "C" {
void* je_malloc(size_t);
void* je_realloc(void*, size_t);
void je_free(void*);
}
#define ALLOCATE(bytes) je_malloc(bytes)
#define RESIZE(block, bytes) je_realloc(block, bytes)
#define RELEASE(block) je_free(block)
#elif defined(MALLOCX)
extern "C" {
void* mallocx(size_t, int);
void* rallocx(void*, size_t, int);
void dallocx(void*, int);
}
#define ALLOCATE(bytes) mallocx(bytes, 0)
#define RESIZE(block, bytes) (block ? rallocx(block, bytes, 0) : mallocx(bytes, 0))
#define RELEASE(block) dallocx(block, 0)
#else
#define ALLOCATE(bytes) malloc(bytes)
#define RESIZE(block, bytes) realloc(block, bytes)
#define RELEASE(block) free(block)
#endif

namespace {

struct Node {
  Node* next;
  long value;
  long pad[10];
};

Node* build(long count) {
  Node* head = nullptr;
  for (long i = 0; i < count; ++i) {
    Node* node = static_cast<Node*>(ALLOCATE(sizeof(Node)));
    node->next = head;
    node->value = i;
    head = node;
  }
  return head;
}

long* growing(long count) {
  long* all = nullptr;
  for (long i = 0; i < count; ++i) {
    if ((i & (i - 1)) == 0)
      all = static_cast<long*>(RESIZE(all, static_cast<size_t>(i + 1) * 2 * sizeof(long)));
    all[i] = i;
  }
  return all;
}

}  // namespace

int main() {
  Node* const head = build(200000);
  long* const grown = growing(1 << 19);
  std::vector<long> table(1 << 20);
  std::unordered_map<long, long> map;
  for (long i = 0; i < 100000; ++i) map[i * 7919] = i;
  long sum = 0;
  for (int round = 0; round < 3; ++round) {
    for (const Node* node = head; node != nullptr; node = node->next) sum += node->value;
    for (const long value : table) sum += value;
    for (long i = 0; i < 1 << 19; ++i) sum += grown[i];
    for (long i = 0; i < 100000; ++i) sum += map[i * 7919];
  }
  for (Node* node = head; node != nullptr;) {
    Node* const next = node->next;
    RELEASE(node);
    node = next;
  }
  RELEASE(grown);
  std::printf("%ld\n", sum);
  return 0;
}
