// Threads and what they wait for, so that they take turns (schedule.hpp).
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <type_traits>

#include "base/hooks.hpp"
#include "crash/recorder.hpp"
#include "crash/schedule.hpp"

using namespace nearfar::crash;

namespace {

struct Beginning {
  void* (*start)(void*);
  void* argument;
  int number;
};

pthread_key_t at_end;

void ends(void*) { leave_thread(); }

void* begin(void* data) {
  const Beginning beginning = *static_cast<Beginning*>(data);
  free(data);
  pthread_setspecific(at_end, &at_end);
  enter_thread(beginning.number, pthread_self());
  return beginning.start(beginning.argument);
}

// Until it is had: the real call that does not wait.
template <typename Try>
int take(const void* what, Try attempt) {
  may_switch();
  for (;;) {
    const int result = attempt();
    if (result != EBUSY) return result;
    wait_for(what);
  }
}

// Barriers by the number of threads they wait for.
struct Barrier {
  const void* barrier;
  unsigned wanted;
  unsigned there;
};
constexpr int most_barriers = 64;
Barrier barriers[most_barriers];

Barrier* find(const void* barrier) {
  for (Barrier& one : barriers) {
    if (one.barrier == barrier) return &one;
  }
  return nullptr;
}

int wait_on(pthread_cond_t* condition, pthread_mutex_t* mutex, bool timed) {
  pthread_mutex_unlock(mutex);
  const bool woken = wait_for(condition, timed);
  pthread_mutex_lock(mutex);
  return woken ? 0 : ETIMEDOUT;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) {
  NEARFAR_NEXT(pthread_create);
  const int number = expect_thread();
  if (number < 0) return real(thread, attributes, start, argument);
  static const int key = pthread_key_create(&at_end, ends);
  auto* const data = static_cast<Beginning*>(malloc(sizeof(Beginning)));
  if (key != 0 || data == nullptr) return EAGAIN;
  *data = {start, argument, number};
  const int result = real(thread, attributes, begin, data);
  if (result != 0) {
    forget_thread(number);
    free(data);
    return result;
  }
  await_begin(number);
  may_switch();
  return 0;
}

int pthread_join(pthread_t thread, void** answer) {
  NEARFAR_NEXT(pthread_join);
  if (scheduled()) {
    const int number = number_of(thread);
    while (number >= 0 && !has_ended(number)) wait_for(end_of(number));
  }
  return real(thread, answer);
}

#define NEARFAR_LOCK(name, type, try_name)                             \
  int name(type* lock) noexcept {                                      \
    NEARFAR_NEXT(name);                                                \
    if (!scheduled()) return real(lock);                               \
    return take(const_cast<const std::remove_volatile_t<type>*>(lock), \
                [&] { return try_name(lock); });                       \
  }
NEARFAR_LOCK(pthread_mutex_lock, pthread_mutex_t, pthread_mutex_trylock)
NEARFAR_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t, pthread_rwlock_tryrdlock)
NEARFAR_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t, pthread_rwlock_trywrlock)
NEARFAR_LOCK(pthread_spin_lock, pthread_spinlock_t, pthread_spin_trylock)

#define NEARFAR_UNLOCK(name, type)                               \
  int name(type* lock) noexcept {                                \
    NEARFAR_NEXT(name);                                          \
    const int result = real(lock);                               \
    wake(const_cast<const std::remove_volatile_t<type>*>(lock)); \
    return result;                                               \
  }
NEARFAR_UNLOCK(pthread_mutex_unlock, pthread_mutex_t)
NEARFAR_UNLOCK(pthread_rwlock_unlock, pthread_rwlock_t)
NEARFAR_UNLOCK(pthread_spin_unlock, pthread_spinlock_t)
NEARFAR_UNLOCK(sem_post, sem_t)

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  NEARFAR_NEXT(pthread_cond_wait);
  return scheduled() ? wait_on(condition, mutex, false) : real(condition, mutex);
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const struct timespec* until) {
  NEARFAR_NEXT(pthread_cond_timedwait);
  return scheduled() ? wait_on(condition, mutex, true) : real(condition, mutex, until);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  NEARFAR_NEXT(pthread_cond_clockwait);
  return scheduled() ? wait_on(condition, mutex, true) : real(condition, mutex, clock, until);
}

int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  NEARFAR_NEXT(pthread_cond_signal);
  wake(condition, true);
  return real(condition);
}

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  NEARFAR_NEXT(pthread_cond_broadcast);
  wake(condition);
  return real(condition);
}

int pthread_barrier_init(pthread_barrier_t* barrier, const pthread_barrierattr_t* attributes,
                         unsigned count) noexcept {
  NEARFAR_NEXT(pthread_barrier_init);
  const int result = real(barrier, attributes, count);
  if (header() == nullptr || result != 0) return result;
  Barrier* one = find(barrier);
  if (one == nullptr) one = find(nullptr);
  if (one != nullptr) *one = {barrier, count, 0};
  return result;
}

int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
  NEARFAR_NEXT(pthread_barrier_wait);
  Barrier* const one = scheduled() ? find(barrier) : nullptr;
  if (one == nullptr) return real(barrier);
  if (++one->there < one->wanted) {
    wait_for(barrier);
    return 0;
  }
  one->there = 0;
  wake(barrier);
  return PTHREAD_BARRIER_SERIAL_THREAD;
}

int pthread_barrier_destroy(pthread_barrier_t* barrier) noexcept {
  NEARFAR_NEXT(pthread_barrier_destroy);
  if (Barrier* const one = find(barrier); one != nullptr) *one = {};
  return real(barrier);
}

int sem_wait(sem_t* semaphore) {
  NEARFAR_NEXT(sem_wait);
  if (!scheduled()) return real(semaphore);
  may_switch();
  while (sem_trywait(semaphore) != 0) {
    if (errno != EAGAIN) return -1;
    wait_for(semaphore);
  }
  return 0;
}

// Nobody sleeps: the others go on, as they would in that time.
#define NEARFAR_SLEEP(result, name, parameters, arguments) \
  result name parameters {                                 \
    NEARFAR_NEXT(name);                                    \
    if (!scheduled()) return real arguments;               \
    give_way();                                            \
    return 0;                                              \
  }
NEARFAR_SLEEP(int, nanosleep, (const struct timespec* wanted, struct timespec* left),
              (wanted, left))
NEARFAR_SLEEP(int, clock_nanosleep,
              (clockid_t clock, int flags, const struct timespec* wanted, struct timespec* left),
              (clock, flags, wanted, left))
NEARFAR_SLEEP(int, usleep, (useconds_t wanted), (wanted))
NEARFAR_SLEEP(unsigned, sleep, (unsigned wanted), (wanted))

int sched_yield() noexcept {
  NEARFAR_NEXT(sched_yield);
  if (scheduled()) give_way();
  return real();
}
}
#pragma GCC visibility pop
