// What the verb said of a stack is kept in a tree of return addresses: from the root (the thread's
// tag, the size class where those matter) each return address leads on, with the distance to
// the next one on the stack, until enough of them are known to name the object. So a call that was
// seen before costs a look-up and a load per frame, two or three where the program has a
// wrapper of malloc. The verb says how many frames are enough.
#include "run/recognise.hpp"

#include <errno.h>
#include <string.h>

#include "nearfar/mark.h"
#include "run/ask.hpp"
#include "run/lock.hpp"
#include "run/state.hpp"

namespace nearfar::run {

namespace {

using profile::Call;
using profile::walk_stack;

// A large program has some thousands of paths to its allocations; beyond half of this, new
// ones go near. A small one has hundreds: its table is small, since it would be touched all over.
constexpr std::uint32_t most_edges = 1u << 17;
constexpr std::uint32_t first_edges = 1u << 8;
constexpr unsigned most_probes = 16;

constexpr std::uint32_t leaf = 1u << 31;
// The frame's size changes from call to call: its stacks are unwound each time.
constexpr std::uint32_t varies = UINT32_MAX;

// One return address seen after what led there.
struct Edge {
  std::uint64_t key;   // written last; 0: free
  std::uint32_t next;  // a node, or with `leaf` what was found
  std::uint32_t step;  // bytes from this frame's end to the next one's
};
// Tables of doubling sizes behind each other: that of so many edges begins at their number.
Edge edges[2 * most_edges];
std::uint32_t edges_size = first_edges;  // of the one in use
std::uint32_t nodes = 1;
std::uint64_t edges_used;
std::uint32_t edges_lock;

struct Thread {
  const char* tag;
  std::uint32_t root;
  bool inside;  // of what takes the lock: a signal's handler that comes here then must not wait
  bool forks;   // holds the lock around its fork
};
__thread Thread thread __attribute__((tls_model("initial-exec")));

constexpr Found unknown{NF_RUN_NO_OBJECT, 0};

std::uint64_t key_of(std::uint32_t node, std::uint64_t return_address) {
  const std::uint64_t mixed =
      (return_address + node * 0x9E3779B97F4A7C15ull) * 0xD6E8FEB86659FD93ull;
  return mixed | 1;
}

Edge& slot_of(std::uint64_t key, unsigned probe, std::uint32_t size) {
  return edges[size + (((key >> 40) + probe) & (size - 1))];
}

Edge* find(std::uint64_t key) {
  const std::uint32_t size = __atomic_load_n(&edges_size, __ATOMIC_ACQUIRE);
  for (unsigned i = 0; i < most_probes; ++i) {
    Edge& edge = slot_of(key, i, size);
    const std::uint64_t seen = __atomic_load_n(&edge.key, __ATOMIC_ACQUIRE);
    if (seen == key) return &edge;
    if (seen == 0) return nullptr;
  }
  return nullptr;
}

Edge* insert(std::uint64_t key, std::uint32_t next, std::uint32_t step, std::uint32_t size) {
  for (unsigned i = 0; i < most_probes; ++i) {
    Edge& edge = slot_of(key, i, size);
    if (edge.key != 0) continue;
    edge.next = next;
    edge.step = step;
    __atomic_store_n(&edge.key, key, __ATOMIC_RELEASE);
    return &edge;
  }
  return nullptr;
}

// Who still looks into the smaller table finds what was there, and asks after the rest.
void grow() {
  const std::uint32_t size = edges_size;
  for (std::uint32_t i = size; i < 2 * size; ++i) {
    const Edge& edge = edges[i];
    if (edge.key != 0) insert(edge.key, edge.next, edge.step, 2 * size);
  }
  __atomic_store_n(&edges_size, 2 * size, __ATOMIC_RELEASE);
}

Edge* claim(std::uint64_t key, std::uint32_t next, std::uint32_t step) {
  if (edges_used > edges_size / 2 && edges_size < most_edges) grow();
  if (edges_used > edges_size / 2) return nullptr;
  Edge* edge = insert(key, next, step, edges_size);
  if (edge != nullptr) ++edges_used;
  return edge;
}

std::uint32_t as_leaf(Found found) {
  return leaf | std::uint32_t{found.target} << 16 | found.object;
}
Found of_leaf(std::uint32_t next) {
  return {static_cast<std::uint16_t>(next), static_cast<std::uint16_t>((next & ~leaf) >> 16)};
}

// 0 for the usual: no tag, sizes do not matter.
std::uint32_t root_of(std::size_t size, bool mapped) {
  std::uint32_t root = thread.root;
  if (mapped) root ^= 1u << 30;
  if (table->split_sizes != 0 && size != 0) {
    root ^= static_cast<std::uint32_t>(64 - __builtin_clzll(size)) << 24;
  }
  return root;
}

Found by_verb(const std::uint64_t* frames, unsigned count, std::size_t size, bool mapped,
              unsigned& depth) {
  nf_run_ask question{};
  nf_run_answer answer{};
  question.message = NF_RUN_STACK;
  question.size = size;
  question.mapped = mapped;
  question.count = count;
  memcpy(question.frames, frames, count * sizeof *frames);
  if (thread.tag != nullptr) strncpy(question.tag, thread.tag, sizeof question.tag - 1);
  add(state.stacks_asked, std::uint64_t{1});
  if (!ask(question, answer)) {
    add(state.stacks_unanswered, std::uint64_t{1});
    depth = count;
    return unknown;
  }
  depth = answer.depth < 1 ? 1 : answer.depth > count ? count : answer.depth;
  return {answer.object, answer.target};
}

// Whether all frames but the last are known to lead to the last; finds what is there.
bool follow(std::uint32_t root, const std::uint64_t* frames, unsigned count, Found& found) {
  std::uint32_t node = root;
  for (unsigned i = 0; i < count; ++i) {
    const Edge* edge = find(key_of(node, frames[i]));
    if (edge == nullptr) return false;
    if ((edge->next & leaf) != 0) {
      found = of_leaf(edge->next);
      return true;
    }
    node = edge->next;
  }
  return false;
}

void keep(std::uint32_t root, const std::uint64_t* frames, const Call* calls, unsigned depth,
          Found found) {
  std::uint32_t node = root;
  for (unsigned i = 0; i < depth; ++i) {
    const bool last = i + 1 == depth;
    const std::uint64_t key = key_of(node, frames[i]);
    Edge* edge = find(key);
    if (edge == nullptr) {
      const std::uint32_t step =
          last ? 0
          : calls == nullptr
              ? varies
              : static_cast<std::uint32_t>(calls[i + 1].frame_end - calls[i].frame_end);
      edge = claim(key, last ? as_leaf(found) : nodes++, step);
      if (edge == nullptr) return;
    }
    if ((edge->next & leaf) != 0) return;
    node = edge->next;
  }
}

[[gnu::noinline]] Found by_tables(Call call, std::uint32_t root, std::size_t size, bool mapped) {
  if (thread.inside) return unknown;
  const int error = errno;
  thread.inside = true;
  std::uint64_t frames[NF_RUN_FRAMES];
  const unsigned count = walk_stack(call, frames, NF_RUN_FRAMES);
  Found found = unknown;
  if (!follow(root, frames, count, found)) {
    Lock const lock(edges_lock);
    // Another thread may have asked the same meanwhile.
    if (!follow(root, frames, count, found)) {
      unsigned depth = 0;
      found = by_verb(frames, count, size, mapped, depth);
      Call calls[NF_RUN_FRAMES];
      const bool fixed = profile::fixed_stack(call, calls, depth) == depth;
      keep(root, frames, fixed ? calls : nullptr, depth, found);
    }
  }
  thread.inside = false;
  errno = error;
  return found;
}

}  // namespace

Found recognise(Call call, std::size_t size, bool mapped) {
  const std::uint32_t root = root_of(size, mapped);
  std::uint32_t node = root;
  Call here = call;
  for (unsigned i = 0; i < NF_RUN_FRAMES; ++i) {
    const Edge* edge = find(key_of(node, here.return_address));
    if (edge == nullptr) break;
    if ((edge->next & leaf) != 0) return of_leaf(edge->next);
    if (edge->step == varies) break;
    node = edge->next;
    here.frame_end += edge->step;
    here.return_address = *reinterpret_cast<const std::uint64_t*>(here.frame_end - 8);
  }
  return by_tables(call, root, size, mapped);
}

void forget_stacks() {
  thread.inside = true;
  acquire(edges_lock);
  profile::forget_steps();
  // Nodes keep counting: who is on its way along an old path finds nothing there.
  for (std::uint32_t i = first_edges; i < 2 * edges_size; ++i) {
    __atomic_store_n(&edges[i].key, std::uint64_t{0}, __ATOMIC_RELEASE);
  }
  edges_used = 0;
  release(edges_lock);
  thread.inside = false;
}

void recognise_before_fork() {
  // Who forks in a handler of a signal that came in the middle has what is there: some edges may
  // be missing.
  thread.forks = !thread.inside;
  if (!thread.forks) return;
  acquire(edges_lock);
  thread.inside = true;  // others' handlers may allocate
}

void recognise_in_parent() {
  if (!thread.forks) return;
  thread.inside = false;
  release(edges_lock);
}

void recognise_in_child() {
  if (thread.forks) thread.inside = false;
  release(edges_lock);
}

}  // namespace nearfar::run

// The innermost tag tells objects of one site apart.
extern "C" [[gnu::visibility("default")]] const char* nearfar_tag_set(const char* name) {
  using nearfar::run::thread;
  const char* before = thread.tag;
  thread.tag = name;
  std::uint32_t hash = 0;
  // Names, not pointers: each file has its own copy of a literal. FNV-1a.
  if (name != nullptr) {
    hash = 2166136261u;
    for (const char* letter = name; *letter != '\0'; ++letter) {
      hash = (hash ^ static_cast<unsigned char>(*letter)) * 16777619u;
    }
    hash = (hash & 0xFFFFFFu) | 1u << 31;
  }
  thread.root = hash;
  return before;
}
