// The verb's answers are stored in a tree of return addresses. The root depends on the thread's
// tag, and on the size class if sizes matter. From it, each return address leads to the next node,
// with the distance to the next return address on the stack, until the object is determined. So a
// known call costs one look-up and one load per frame; two or three frames are enough if the
// program wraps malloc. The verb's answer contains the number of frames that determine the object.
#include "run/stack_objects.hpp"

#include <errno.h>
#include <string.h>

#include "nearfar/mark.h"
#include "profile/runtime/interpreter.hpp"
#include "run/lock.hpp"
#include "run/shared_answers.hpp"
#include "run/state.hpp"
#include "run/verb_socket.hpp"

namespace nearfar::run {

std::uint64_t decisions[1u << decision_bits];

namespace {

using profile::Call;
using profile::walk_stack;

// A large program has some thousands of paths to its allocations. Beyond half of this table's size,
// blocks from new paths are placed near. A small program has hundreds of paths and gets a small
// table, because accesses are spread over the whole table.
constexpr std::uint32_t max_edges = 1u << 17;
constexpr std::uint32_t first_edges = 1u << 8;
constexpr unsigned max_probes = 16;

constexpr std::uint32_t leaf = 1u << 31;
// The size of the frame changes between calls, so its stacks are unwound each time.
constexpr std::uint32_t varies = UINT32_MAX;

// One return address, following the path to its node.
struct Edge {
  std::uint64_t key;   // written last; 0: free
  std::uint32_t next;  // the next node, or with `leaf` the object and target
  std::uint32_t step;  // bytes from the end of this frame to the end of the next one
};
// Tables of doubling sizes, one after another: the table of N edges begins at edge N.
Edge edges[2 * max_edges];
std::uint32_t edges_size = first_edges;  // size of the table in use
std::uint32_t nodes = 1;
std::uint64_t edges_used;
std::uint32_t edges_lock;

struct Thread {
  const char* tag;
  bool inside;  // holds the lock: a signal handler on this thread must not wait for it
  bool forks;   // holds the lock during its fork
};
__thread Thread thread __attribute__((tls_model("initial-exec")));

bool found_object;

constexpr Recognised unknown{NF_RUN_NO_OBJECT, 0};

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
  for (unsigned i = 0; i < max_probes; ++i) {
    Edge& edge = slot_of(key, i, size);
    const std::uint64_t seen = __atomic_load_n(&edge.key, __ATOMIC_ACQUIRE);
    if (seen == key) return &edge;
    if (seen == 0) return nullptr;
  }
  return nullptr;
}

Edge* insert(std::uint64_t key, std::uint32_t next, std::uint32_t step, std::uint32_t size) {
  for (unsigned i = 0; i < max_probes; ++i) {
    Edge& edge = slot_of(key, i, size);
    if (edge.key != 0) continue;
    edge.next = next;
    edge.step = step;
    __atomic_store_n(&edge.key, key, __ATOMIC_RELEASE);
    return &edge;
  }
  return nullptr;
}

// A thread that still reads the smaller table finds its entries there, and asks the verb for the
// others.
void grow() {
  const std::uint32_t size = edges_size;
  for (std::uint32_t i = size; i < 2 * size; ++i) {
    const Edge& edge = edges[i];
    if (edge.key != 0) insert(edge.key, edge.next, edge.step, 2 * size);
  }
  __atomic_store_n(&edges_size, 2 * size, __ATOMIC_RELEASE);
}

Edge* claim(std::uint64_t key, std::uint32_t next, std::uint32_t step) {
  if (edges_used > edges_size / 2 && edges_size < max_edges) grow();
  if (edges_used > edges_size / 2) return nullptr;
  Edge* edge = insert(key, next, step, edges_size);
  if (edge != nullptr) ++edges_used;
  return edge;
}

std::uint32_t to_leaf(Recognised recognised) {
  return leaf | std::uint32_t{recognised.target} << 16 | recognised.object;
}
Recognised from_leaf(std::uint32_t next) {
  return {static_cast<std::uint16_t>(next), static_cast<std::uint16_t>((next & ~leaf) >> 16)};
}

// Stores the target for a call, unless its stacks must decide.
void decide(std::uint64_t return_address, unsigned target) {
  if (table->split_sizes != 0) return;
  std::uint64_t& word = decision_of(return_address);
  if ((__atomic_load_n(&word, __ATOMIC_RELAXED) & undecided) == undecided) return;
  __atomic_store_n(&word, return_address << target_bits | target, __ATOMIC_RELAXED);
}

// Returns the root node; 0 without tag and size class.
std::uint32_t root_of(std::size_t size, bool mapped) {
  std::uint32_t root = this_thread.tag_root;
  if (mapped) root ^= 1u << 30;
  if (table->split_sizes != 0 && size != 0) {
    root ^= static_cast<std::uint32_t>(64 - __builtin_clzll(size)) << 24;
  }
  return root;
}

// Sets `answer` to the verb's answer; returns false if it does not answer.
bool ask_verb(const std::uint64_t* frames, unsigned count, std::size_t size, bool mapped,
              nf_run_answer& answer) {
  nf_run_ask question{};
  question.message = NF_RUN_STACK;
  question.size = size;
  question.mapped = mapped;
  question.count = count;
  memcpy(question.frames, frames, count * sizeof *frames);
  if (thread.tag != nullptr) strncpy(question.tag, thread.tag, sizeof question.tag - 1);
  add(state.stacks_asked, std::uint64_t{1});
  introduce();
  if (!ask(question, answer)) {
    add(state.stacks_unanswered, std::uint64_t{1});
    answer = {unknown.object, unknown.target, count, 0};
    return false;
  }
  answer.depth = answer.depth < 1 ? 1 : answer.depth > count ? count : answer.depth;
  return true;
}

// Returns whether the tree has a path for these frames; if so, sets `recognised` to its object.
bool follow(std::uint32_t root, const std::uint64_t* frames, unsigned count,
            Recognised& recognised) {
  std::uint32_t node = root;
  for (unsigned i = 0; i < count; ++i) {
    const Edge* edge = find(key_of(node, frames[i]));
    if (edge == nullptr) return false;
    if ((edge->next & leaf) != 0) {
      recognised = from_leaf(edge->next);
      return true;
    }
    node = edge->next;
  }
  return false;
}

void insert_path(std::uint32_t root, const std::uint64_t* frames, const Call* calls, unsigned depth,
                 Recognised recognised) {
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
      edge = claim(key, last ? to_leaf(recognised) : nodes++, step);
      if (edge == nullptr) return;
    }
    if ((edge->next & leaf) != 0) return;
    node = edge->next;
  }
}

// Stores an answer in the tree; the lock is held. `calls` is null if the size of a frame varies.
Recognised learn(std::uint32_t root, const std::uint64_t* frames, bool native, const Call* calls,
                 const nf_run_answer& answer) {
  const Recognised recognised{answer.object, answer.target};
  if (root == 0 && native && (answer.depth == 1 || answer.alike != 0)) {
    decide(frames[0], recognised.target);
  }
  insert_path(root, frames, calls, answer.depth, recognised);
  return recognised;
}

// Returns the object of these frames; asks the verb the first time. `call`: the call, if the stack
// is native.
Recognised object_of(const std::uint64_t* frames, unsigned count, const Call* call,
                     std::uint32_t root, std::size_t size, bool mapped) {
  Recognised recognised = unknown;
  if (follow(root, frames, count, recognised)) return recognised;
  const SharedKeys keys = shared_keys(root, frames, count);
  Lock const lock(edges_lock);
  // Another thread may have stored the same stack in the meantime.
  if (follow(root, frames, count, recognised)) return recognised;
  nf_run_answer answer{};
  bool shared = find_shared(keys, answer);
  if (!shared && ask_verb(frames, count, size, mapped, answer)) {
    shared = share(keys, answer);
    if (answer.object != NF_RUN_NO_OBJECT) found_object = true;
  }
  const unsigned depth = answer.depth;
  Call calls[NF_RUN_FRAMES];
  const bool fixed = call != nullptr && profile::fixed_stack(*call, calls, depth) == depth;
  for (unsigned i = 0; shared && fixed && i + 1 < depth; ++i) {
    share_step(keys.key[i],
               static_cast<std::uint32_t>(calls[i + 1].frame_end - calls[i].frame_end));
  }
  return learn(root, frames, call != nullptr, fixed ? calls : nullptr, answer);
}

// Follows the steps that another process has shared, so that a child need not unwind. Returns false
// if they do not lead to an answer.
bool follow_shared(Call call, std::uint32_t root, Recognised& recognised) {
  std::uint64_t frames[NF_RUN_FRAMES];
  Call calls[NF_RUN_FRAMES];
  std::uint64_t key = first_key(root);
  for (unsigned i = 0; i < NF_RUN_FRAMES; ++i) {
    key = next_key(key, call.return_address);
    nf_run_shared entry{};
    if (key == 0 || !find_shared(key, entry)) return false;
    frames[i] = call.return_address;
    calls[i] = call;
    if (entry.target != NF_RUN_STEP) {
      Lock const lock(edges_lock);
      recognised =
          learn(root, frames, true, calls, {entry.object, entry.target, i + 1, entry.alike});
      return true;
    }
    call.frame_end += entry.alike;
    call.return_address = *reinterpret_cast<const std::uint64_t*>(call.frame_end - 8);
    // A frame of another size here: the word is no address, such as the stack protector's.
    if ((call.return_address & profile::named_frame_bit) != 0) return false;
  }
  return false;
}

[[gnu::noinline]] Recognised recognise_by_walk(Call call, std::uint32_t root, std::size_t size,
                                               bool mapped) {
  if (thread.inside) return unknown;
  const int error = errno;
  thread.inside = true;
  Recognised recognised = unknown;
  if (!follow_shared(call, root, recognised)) {
    std::uint64_t frames[NF_RUN_FRAMES];
    const unsigned count = walk_stack(call, frames, NF_RUN_FRAMES);
    recognised = object_of(frames, count, &call, root, size, mapped);
  }
  thread.inside = false;
  errno = error;
  return recognised;
}

// Sets `recognised` to the object of the interpreted code that allocates; returns false if no
// interpreted code does. The frames are texts in this process, which the verb reads.
bool recognise_interpreted(Call call, std::uint32_t root, std::size_t size, bool mapped,
                           Recognised& recognised) {
  if (thread.inside) return false;
  const int error = errno;
  profile::NamedFrame* named[profile::max_interpreted];
  const unsigned count = profile::interpreter_frames(call, named);
  if (count != 0) {
    thread.inside = true;
    std::uint64_t frames[profile::max_interpreted];
    for (unsigned i = 0; i < count; ++i) {
      frames[i] = profile::named_frame_bit | reinterpret_cast<std::uint64_t>(named[i]->text);
    }
    recognised = object_of(frames, count, nullptr, root, size, mapped);
    thread.inside = false;
  }
  errno = error;
  return count != 0;
}

}  // namespace

Recognised recognise(Call call, std::size_t size, bool mapped) {
  const std::uint32_t root = root_of(size, mapped);
  Recognised recognised = unknown;
  if (size >= min_interpreted_bytes &&
      recognise_interpreted(call, root, size, mapped, recognised)) {
    return recognised;
  }
  std::uint32_t node = root;
  // Not a copy of `call`, because a compiler would load the copy as a whole from two separate
  // stores, which is slow.
  std::uint64_t return_address = call.return_address;
  std::uint64_t frame_end = call.frame_end;
  for (unsigned i = 0; i < NF_RUN_FRAMES; ++i) {
    const Edge* edge = find(key_of(node, return_address));
    if (edge == nullptr) break;
    if ((edge->next & leaf) != 0) {
      recognised = from_leaf(edge->next);
      if (i == 0 && root == 0) decide(return_address, recognised.target);
      return recognised;
    }
    if (edge->step == varies) break;
    node = edge->next;
    frame_end += edge->step;
    return_address = *reinterpret_cast<const std::uint64_t*>(frame_end - 8);
  }
  return recognise_by_walk(call, root, size, mapped);
}

bool found_an_object() { return __atomic_load_n(&found_object, __ATOMIC_RELAXED); }

void leave_undecided(std::uint64_t return_address) {
  __atomic_store_n(&decision_of(return_address), return_address << target_bits | undecided,
                   __ATOMIC_RELAXED);
}

void forget_stacks() {
  thread.inside = true;
  acquire(edges_lock);
  for (std::uint64_t& word : decisions) __atomic_store_n(&word, std::uint64_t{0}, __ATOMIC_RELAXED);
  profile::reset_steps();
  forget_files();
  // Node numbers are not reused, so a thread on an old path finds nothing.
  for (std::uint32_t i = first_edges; i < 2 * edges_size; ++i) {
    __atomic_store_n(&edges[i].key, std::uint64_t{0}, __ATOMIC_RELEASE);
  }
  edges_used = 0;
  release(edges_lock);
  thread.inside = false;
}

void recognise_before_fork() {
  // A fork in a signal handler during an update copies the tree as it is; some edges may be
  // missing.
  thread.forks = !thread.inside;
  if (!thread.forks) return;
  acquire(edges_lock);
  thread.inside = true;  // other fork handlers may allocate
}

void recognise_in_parent() {
  if (!thread.forks) return;
  thread.inside = false;
  release(edges_lock);
}

void recognise_in_child() {
  found_object = false;
  if (thread.forks) thread.inside = false;
  release(edges_lock);
}

}  // namespace nearfar::run

// The innermost tag distinguishes objects of one allocation site.
extern "C" [[gnu::visibility("default")]] const char* nearfar_tag_set(const char* name) {
  using nearfar::run::thread;
  const char* before = thread.tag;
  thread.tag = name;
  std::uint32_t hash = 0;
  // Hashes the name (FNV-1a), not the pointer: each file has its own copy of a literal.
  if (name != nullptr) {
    hash = 2166136261u;
    for (const char* letter = name; *letter != '\0'; ++letter) {
      hash = (hash ^ static_cast<unsigned char>(*letter)) * 16777619u;
    }
    hash = (hash & 0xFFFFFFu) | 1u << 31;
  }
  nearfar::run::this_thread.tag_root = hash;
  return before;
}
