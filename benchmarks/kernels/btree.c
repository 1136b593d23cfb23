/* SIZE look-ups, REPETITIONS times, in a complete tree of 16-way nodes of 256 bytes, 6 levels. */
#include "kernel.h"

enum { keys_per_node = 15, levels = 6 };

struct node {
  uint32_t count;
  uint32_t is_leaf;
  uint64_t key[keys_per_node];
  struct node* child[keys_per_node + 1];
};

static struct node* build(uint64_t low, uint64_t step, int level) {
  struct node* node = malloc(sizeof *node);
  if (node == NULL) exit(3);
  node->count = keys_per_node;
  node->is_leaf = level == 1;
  for (int i = 0; i < keys_per_node; i++) node->key[i] = low + (uint64_t)(i + 1) * step;
  for (int i = 0; i <= keys_per_node; i++)
    node->child[i] = level > 1 ? build(low + (uint64_t)i * step, step / 16, level - 1) : NULL;
  return node;
}

static void release(struct node* node) {
  if (node == NULL) return;
  for (int i = 0; i <= keys_per_node; i++) release(node->child[i]);
  free(node);
}

static KEEP uint64_t floor_key(const struct node* node, uint64_t key) {
  for (;;) {
    uint32_t i = 0;
    while (i < node->count && node->key[i] <= key) i++;
    if (node->is_leaf) return i > 0 ? node->key[i - 1] : 0;
    node = node->child[i];
  }
}

int main(int count, char** words) {
  struct kernel kernel = kernel_arguments(count, words, 1 << 20, 1);
  const uint64_t step = 1ull << 40;
  const uint64_t leaf_step = step >> (4 * (levels - 1));
  struct node* root = build(0, step, levels);
  uint64_t expected = 0;
  for (uint64_t i = 0; i < kernel.size; i++) {
    const uint64_t key = kernel_mix(i) % (step * 16);
    /* A leaf's own keys are the multiples of leaf_step but for those of its ancestors. */
    expected += key / leaf_step % 16 == 0 ? 0 : key / leaf_step * leaf_step;
  }
  uint64_t sum = 0;
  kernel_begin(&kernel);
  for (uint64_t r = 0; r < kernel.repetitions; r++)
    for (uint64_t i = 0; i < kernel.size; i++) sum += floor_key(root, kernel_mix(i) % (step * 16));
  kernel_end(&kernel, (double)(kernel.size * kernel.repetitions));
  release(root);
  return kernel_check(&kernel, sum, expected * kernel.repetitions);
}
