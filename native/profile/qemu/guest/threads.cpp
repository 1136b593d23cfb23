// Reports stacks of new threads, and phases.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "nearfar/mark.h"
#include "profile/qemu/guest/send.hpp"
#include "profile/runtime/control.h"
#include "profile/runtime/hooks.hpp"
#include "profile/runtime/run_folder.hpp"
#include "profile/runtime/runtime.hpp"

using namespace nearfar::profile;

namespace {

struct Start {
  void* (*function)(void*);
  void* argument;
};

void send_stack_range() {
  Guard const guard;
  Muted const muted;
  if (ring->native != 0) __atomic_fetch_add(&ring->threads, 1, __ATOMIC_RELAXED);
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* begin = nullptr;
  size_t size = 0;
  pthread_attr_getstack(&attributes, &begin, &size);
  pthread_attr_destroy(&attributes);
  const auto bottom = reinterpret_cast<std::uint64_t>(begin);
  send(NF_RING_STACK, {bottom, bottom + size});
}

void* run_thread(void* data) {
  auto* start = static_cast<Start*>(data);
  const Start copy = *start;
  real.free(start);
  if (active()) send_stack_range();
  return copy.function(copy.argument);
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

// The first mark decides where sampling ends, if it is limited by instructions.
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
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static Create const create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (!active()) return create(thread, attributes, function, argument);
  auto* start = static_cast<Start*>(real.malloc(sizeof(Start)));
  if (start == nullptr) return EAGAIN;
  *start = {function, argument};
  const int error = create(thread, attributes, run_thread, start);
  if (error != 0) real.free(start);
  return error;
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
