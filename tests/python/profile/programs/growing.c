/* One of four structures of N elements, built and used: profiles at several sizes extrapolate.
 * growing hash|btree|sort|matrix N */
#include <nearfar/mark.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 31) * 0x7FB5D329728EA185ull;
  x = (x ^ x >> 27) * 0x81DADEF4BC2DD44Dull;
  return x ^ x >> 33;
}

struct entry {
  struct entry* next;
  uint64_t key, value;
};

/* Chained hash map: table and entries grow with n, a look-up does not. */
static uint64_t hash(uint64_t n) {
  uint64_t slots = 1, sum = 0;
  while (slots < n) slots *= 2;
  struct entry** table = calloc(slots, sizeof *table);
  NEARFAR_BEGIN("insert");
  for (uint64_t i = 0; i < n; i++) {
    struct entry* fresh = malloc(sizeof *fresh);
    struct entry** slot = &table[mix(i) & (slots - 1)];
    fresh->key = i;
    fresh->value = i * 3;
    fresh->next = *slot;
    *slot = fresh;
  }
  NEARFAR_END("insert", n);
  NEARFAR_BEGIN("get");
  for (uint64_t i = 0; i < 4 * n; i++) {
    const uint64_t key = mix(i * 7 + 1) % n;
    for (struct entry* at = table[mix(key) & (slots - 1)]; at; at = at->next)
      if (at->key == key) {
        sum += at->value;
        break;
      }
  }
  NEARFAR_END("get", 4 * n);
  return sum;
}

enum { order = 16 };
struct node {
  uint64_t keys[order];
  struct node* child[order + 1];
  int count, leaf;
};

static struct node* build(uint64_t low, uint64_t high) {
  struct node* node = calloc(1, sizeof *node);
  if (high - low <= order) {
    node->leaf = 1;
    for (uint64_t i = low; i < high; i++) node->keys[node->count++] = i;
    return node;
  }
  for (uint64_t i = 0; i <= order; i++) {
    const uint64_t from = low + (high - low) * i / (order + 1);
    node->child[i] = build(from, low + (high - low) * (i + 1) / (order + 1));
    if (i) node->keys[node->count++] = from;
  }
  return node;
}

/* Search tree of wide nodes: a look-up takes log n of them. */
static uint64_t btree(uint64_t n) {
  uint64_t sum = 0;
  NEARFAR_BEGIN("build");
  struct node* root = build(0, n);
  NEARFAR_END("build", n);
  NEARFAR_BEGIN("get");
  for (uint64_t i = 0; i < 4 * n; i++) {
    const uint64_t key = mix(i) % n;
    const struct node* node = root;
    for (;;) {
      int at = 0;
      while (at < node->count && node->keys[at] <= key) at++;
      if (node->leaf) {
        sum += node->keys[at - 1];
        break;
      }
      node = node->child[at];
    }
  }
  NEARFAR_END("get", 4 * n);
  return sum;
}

/* Merge sort with a second array: log n passes. */
static uint64_t sort(uint64_t n) {
  uint64_t *from = malloc(n * 8), *to = malloc(n * 8);
  for (uint64_t i = 0; i < n; i++) from[i] = mix(i);
  NEARFAR_BEGIN("sort");
  for (uint64_t width = 1; width < n; width *= 2) {
    for (uint64_t low = 0; low < n; low += 2 * width) {
      const uint64_t middle = low + width < n ? low + width : n;
      const uint64_t high = low + 2 * width < n ? low + 2 * width : n;
      uint64_t left = low, right = middle;
      for (uint64_t out = low; out < high; out++)
        to[out] = left < middle && (right >= high || from[left] <= from[right]) ? from[left++]
                                                                                 : from[right++];
    }
    uint64_t* other = from;
    from = to;
    to = other;
  }
  NEARFAR_END("sort", n);
  return from[n / 2];
}

/* Square matrices of n columns: n^2 elements, n^3 work, columns reused after n lines. */
static uint64_t matrix(uint64_t n) {
  double *a = malloc(n * n * 8), *b = malloc(n * n * 8), *c = calloc(n * n, 8);
  for (uint64_t i = 0; i < n * n; i++) {
    a[i] = (double)(i % 7);
    b[i] = (double)(i % 5);
  }
  NEARFAR_BEGIN("multiply");
  for (uint64_t i = 0; i < n; i++)
    for (uint64_t k = 0; k < n; k++)
      for (uint64_t j = 0; j < n; j++) c[i * n + j] += a[i * n + k] * b[k * n + j];
  NEARFAR_END("multiply", n * n * n);
  return (uint64_t)c[n * n / 2];
}

int main(int count, char** words) {
  if (count != 3) return 2;
  const uint64_t n = strtoull(words[2], NULL, 10);
  uint64_t (*const runs[])(uint64_t) = {hash, btree, sort, matrix};
  const char* names[] = {"hash", "btree", "sort", "matrix"};
  for (int i = 0; i < 4; i++)
    if (!strcmp(words[1], names[i])) printf("%llu\n", (unsigned long long)runs[i](n));
  return 0;
}
