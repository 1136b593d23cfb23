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

enum { most = 15 };
struct node {
  uint64_t keys[most];
  struct node* child[most + 1];
  int count;
};

static struct node* split(struct node* full, uint64_t* middle) {
  struct node* right = calloc(1, sizeof *right);
  const int half = most / 2;
  *middle = full->keys[half];
  right->count = most - half - 1;
  memcpy(right->keys, full->keys + half + 1, sizeof *full->keys * (most - half - 1));
  memcpy(right->child, full->child + half + 1, sizeof *full->child * (most - half));
  full->count = half;
  return right;
}

static int place(const struct node* node, uint64_t key) {
  int at = 0;
  while (at < node->count && node->keys[at] < key) at++;
  return at;
}

static void put(struct node* node, int at, uint64_t key, struct node* right) {
  memmove(node->keys + at + 1, node->keys + at, sizeof *node->keys * (node->count - at));
  memmove(node->child + at + 2, node->child + at + 1, sizeof *node->child * (node->count - at));
  node->keys[at] = key;
  node->child[at + 1] = right;
  node->count++;
}

static struct node* insert(struct node* root, uint64_t key) {
  uint64_t middle;
  if (root->count == most) {
    struct node* above = calloc(1, sizeof *above);
    above->child[0] = root;
    struct node* right = split(root, &middle);
    put(above, 0, middle, right);
    root = above;
  }
  struct node* node = root;
  while (node->child[0]) {
    int at = place(node, key);
    struct node* next = node->child[at];
    if (next->count == most) {
      struct node* right = split(next, &middle);
      put(node, at, middle, right);
      if (key > middle) next = right;
    }
    node = next;
  }
  put(node, place(node, key), key, NULL);
  return root;
}

/* B-tree of random keys: a look-up takes log n nodes. */
static uint64_t btree(uint64_t n) {
  uint64_t found = 0;
  struct node* root = calloc(1, sizeof *root);
  NEARFAR_BEGIN("insert");
  for (uint64_t i = 0; i < n; i++) root = insert(root, mix(i));
  NEARFAR_END("insert", n);
  NEARFAR_BEGIN("get");
  for (uint64_t i = 0; i < 4 * n; i++) {
    const uint64_t key = mix(mix(i) % n);
    for (const struct node* node = root; node;) {
      const int at = place(node, key);
      if (at < node->count && node->keys[at] == key) {
        found++;
        break;
      }
      node = node->child[at];
    }
  }
  NEARFAR_END("get", 4 * n);
  return found;
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
  if (count != 1 && count != 3) return 2;
  const char* wanted = count == 3 ? words[1] : "hash";
  const uint64_t n = count == 3 ? strtoull(words[2], NULL, 10) : 2000;
  uint64_t (*const runs[])(uint64_t) = {hash, btree, sort, matrix};
  const char* names[] = {"hash", "btree", "sort", "matrix"};
  for (int i = 0; i < 4; i++)
    if (!strcmp(wanted, names[i])) printf("%llu\n", (unsigned long long)runs[i](n));
  return 0;
}
