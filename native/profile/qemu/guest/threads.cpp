// Reports stacks of new threads, and phases.
#include <errno.h>
#include <pthread.h>
#include <threads.h>
#include <unistd.h>

#include "nearfar/mark.h"
#include "profile/qemu/guest/send.hpp"
#include "profile/runtime/control.h"
#include "profile/runtime/hooks.hpp"
#include "profile/runtime/run_folder.hpp"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/threads_alive.h"

using namespace nearfar::profile;

namespace {

// `Result` is void* for POSIX threads and int for threads of C11.
template <typename Result>
struct Start {
  Result (*function)(void*);
  void* argument;
};

pthread_key_t at_thread_end;
pthread_once_t key_made = PTHREAD_ONCE_INIT;

void make_key() {
  // A child of a fork shares the ring, but its threads do not count.
  pthread_key_create(&at_thread_end, [](void*) {
    if (runtime.active) nf_thread_ends(&ring->threads_alive);
  });
}

// QEMU's plugin counts threads itself.
void count_thread() {
  if (ring->native == 0) return;
  nf_thread_begins(&ring->threads_alive, &ring->threads);
  pthread_once(&key_made, make_key);
  pthread_setspecific(at_thread_end, ring);
}

void send_stack_range() {
  Guard const guard;
  Muted const muted;
  count_thread();
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* begin = nullptr;
  size_t size = 0;
  pthread_attr_getstack(&attributes, &begin, &size);
  pthread_attr_destroy(&attributes);
  const auto bottom = reinterpret_cast<std::uint64_t>(begin);
  send(NF_RING_STACK, {bottom, bottom + size});
}

template <typename Result>
Result run_thread(void* data) {
  auto* start = static_cast<Start<Result>*>(data);
  const Start<Result> copy = *start;
  real.free(start);
  if (active()) send_stack_range();
  return copy.function(copy.argument);
}

// Calls `create(function, argument)`; the new thread reports its stack first.
template <typename Result, typename Create>
int create_thread(Result (*function)(void*), void* argument, int no_memory, Create create) {
  if (!active()) return create(function, argument);
  auto* start = static_cast<Start<Result>*>(real.malloc(sizeof(Start<Result>)));
  if (start == nullptr) return no_memory;
  *start = {function, argument};
  const int error = create(run_thread<Result>, static_cast<void*>(start));
  if (error != 0) real.free(start);
  return error;
}

// Makes the reader attribute earlier counts to the previous phase.
void end_phase() {
  {
    Guard const guard;
    if (guard) {
      Muted const muted;
      send(NF_RING_LOOK, {});
    }
  }
  drain();
}

// If sampling is limited by instructions, the limit counts from the first mark.
void begin_limited_sampling() {
  if (ring->sample_instructions == 0 || ring->sample_until != UINT64_MAX) return;
  ring->sample_until = ring->instructions + ring->sample_instructions;
}

nf_control* control() {
  static nf_control* mapped = nullptr;
  static bool tried = false;
  if (!tried) {
    tried = true;
    char path[path_size];
    if (run_folder_file(path, "control")) mapped = nf_control_open(path);
  }
  return mapped;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                   void* argument) noexcept {
  need_real_functions();
  return create_thread(function, argument, EAGAIN, [&](void* (*start)(void*), void* data) {
    return real.pthread_create(thread, attributes, start, data);
  });
}

int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  need_real_functions();
  return create_thread(
      function, argument, static_cast<int>(thrd_nomem),
      [&](thrd_start_t start, void* data) { return real.thrd_create(thread, start, data); });
}

void nearfar_phase_begin(const char* name) {
  nf_control* shared = control();
  if (shared == nullptr) return;
  if (active()) end_phase();
  nf_control_begin(shared, getpid(), name);
  if (active()) begin_limited_sampling();
}

void nearfar_phase_end(const char* name, double operations) {
  nf_control* shared = control();
  if (shared == nullptr) return;
  if (active()) end_phase();
  nf_control_end(shared, getpid(), name, operations);
}
}
#pragma GCC visibility pop
