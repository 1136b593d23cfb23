// Hooks of threads and of functions that wait, so that threads take turns (schedule.hpp).
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

struct ThreadStart {
  void* (*start)(void*);
  void* argument;
  int number;
};

pthread_key_t at_end;

void leave_at_end(void*) { leave_thread(); }

void* run_thread(void* data) {
  const ThreadStart thread_start = *static_cast<ThreadStart*>(data);
  free(data);
  pthread_setspecific(at_end, &at_end);
  enter_thread(thread_start.number, pthread_self());
  record_sync(begin_of(thread_start.number), Sync::acquire);
  return thread_start.start(thread_start.argument);
}

// Acquires a lock by its non-blocking call, and waits between attempts. A timed wait ends when no
// other thread can continue.
template <typename Try>
int acquire(const void* resource, bool timed, Try attempt) {
  may_switch({NF_CRASH_STEP_LOCK, number_of_object(resource), 1});
  for (;;) {
    const int result = attempt();
    if (result != EBUSY) return result;
    if (!wait_for(resource, timed)) return ETIMEDOUT;
  }
}

int acquire_semaphore(sem_t* semaphore, bool timed) {
  const int error = acquire(semaphore, timed, [&] {
    if (sem_trywait(semaphore) == 0) return 0;
    return errno == EAGAIN ? EBUSY : errno;
  });
  if (error == 0) return 0;
  errno = error;
  return -1;
}

// glibc's pthread_once_t.
constexpr int once_states = 3;
constexpr int once_runs = 1;
constexpr int once_done = 2;
int state_of(const pthread_once_t* control) {
  return __atomic_load_n(control, __ATOMIC_ACQUIRE) & once_states;
}

// Barriers, with the number of threads they wait for.
struct Barrier {
  const void* barrier;
  unsigned count;
  unsigned arrived;
};
constexpr int max_barriers = 64;
Barrier barriers[max_barriers];

Barrier* find(const void* barrier) {
  for (Barrier& entry : barriers) {
    if (entry.barrier == barrier) return &entry;
  }
  return nullptr;
}

int wait_for_condition(pthread_cond_t* condition, pthread_mutex_t* mutex, bool timed) {
  pthread_mutex_unlock(mutex);
  const bool woken = wait_for(condition, timed);
  record_sync(condition, Sync::acquire);
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
  static const int key = pthread_key_create(&at_end, leave_at_end);
  auto* const data = static_cast<ThreadStart*>(malloc(sizeof(ThreadStart)));
  if (key != 0 || data == nullptr) return EAGAIN;
  *data = {start, argument, number};
  record_sync(begin_of(number), Sync::release);
  const int result = real(thread, attributes, run_thread, data);
  if (result != 0) {
    forget_thread(number);
    free(data);
    return result;
  }
  await_begin(number);
  may_switch({});
  return 0;
}

int pthread_join(pthread_t thread, void** answer) {
  NEARFAR_NEXT(pthread_join);
  if (scheduled()) {
    const int number = number_of(thread);
    while (number >= 0 && !has_ended(number)) wait_for(end_of(number));
    if (number >= 0) record_sync(end_of(number), Sync::acquire);
  }
  return real(thread, answer);
}

// The locks below also call this, once per attempt.
#define NEARFAR_TRY(name, type)                                                          \
  int name(type* lock) noexcept {                                                        \
    NEARFAR_NEXT(name);                                                                  \
    const int result = real(lock);                                                       \
    if (result == 0)                                                                     \
      record_sync(const_cast<const std::remove_volatile_t<type>*>(lock), Sync::acquire); \
    return result;                                                                       \
  }
NEARFAR_TRY(pthread_mutex_trylock, pthread_mutex_t)
NEARFAR_TRY(pthread_rwlock_tryrdlock, pthread_rwlock_t)
NEARFAR_TRY(pthread_rwlock_trywrlock, pthread_rwlock_t)
NEARFAR_TRY(pthread_spin_trylock, pthread_spinlock_t)
NEARFAR_TRY(sem_trywait, sem_t)

#define NEARFAR_LOCK(name, type, try_name)                                       \
  int name(type* lock) noexcept {                                                \
    NEARFAR_NEXT(name);                                                          \
    if (!scheduled()) return real(lock);                                         \
    return acquire(const_cast<const std::remove_volatile_t<type>*>(lock), false, \
                   [&] { return try_name(lock); });                              \
  }
NEARFAR_LOCK(pthread_mutex_lock, pthread_mutex_t, pthread_mutex_trylock)
NEARFAR_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t, pthread_rwlock_tryrdlock)
NEARFAR_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t, pthread_rwlock_trywrlock)
NEARFAR_LOCK(pthread_spin_lock, pthread_spinlock_t, pthread_spin_trylock)

#define NEARFAR_TIMED_LOCK(kind, timed_name, clock_name, try_name)                     \
  int timed_name(kind* lock, const struct timespec* until) noexcept {                  \
    NEARFAR_NEXT(timed_name);                                                          \
    if (!scheduled()) return real(lock, until);                                        \
    return acquire(lock, true, [&] { return try_name(lock); });                        \
  }                                                                                    \
  int clock_name(kind* lock, clockid_t clock, const struct timespec* until) noexcept { \
    NEARFAR_NEXT(clock_name);                                                          \
    if (!scheduled()) return real(lock, clock, until);                                 \
    return acquire(lock, true, [&] { return try_name(lock); });                        \
  }
NEARFAR_TIMED_LOCK(pthread_mutex_t, pthread_mutex_timedlock, pthread_mutex_clocklock,
                   pthread_mutex_trylock)
NEARFAR_TIMED_LOCK(pthread_rwlock_t, pthread_rwlock_timedrdlock, pthread_rwlock_clockrdlock,
                   pthread_rwlock_tryrdlock)
NEARFAR_TIMED_LOCK(pthread_rwlock_t, pthread_rwlock_timedwrlock, pthread_rwlock_clockwrlock,
                   pthread_rwlock_trywrlock)

#define NEARFAR_UNLOCK(name, type)                                                     \
  int name(type* lock) noexcept {                                                      \
    NEARFAR_NEXT(name);                                                                \
    record_sync(const_cast<const std::remove_volatile_t<type>*>(lock), Sync::release); \
    const int result = real(lock);                                                     \
    wake(const_cast<const std::remove_volatile_t<type>*>(lock));                       \
    return result;                                                                     \
  }
NEARFAR_UNLOCK(pthread_mutex_unlock, pthread_mutex_t)
NEARFAR_UNLOCK(pthread_rwlock_unlock, pthread_rwlock_t)
NEARFAR_UNLOCK(pthread_spin_unlock, pthread_spinlock_t)
NEARFAR_UNLOCK(sem_post, sem_t)

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  NEARFAR_NEXT(pthread_cond_wait);
  return scheduled() ? wait_for_condition(condition, mutex, false) : real(condition, mutex);
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const struct timespec* until) {
  NEARFAR_NEXT(pthread_cond_timedwait);
  return scheduled() ? wait_for_condition(condition, mutex, true) : real(condition, mutex, until);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  NEARFAR_NEXT(pthread_cond_clockwait);
  return scheduled() ? wait_for_condition(condition, mutex, true)
                     : real(condition, mutex, clock, until);
}

int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  NEARFAR_NEXT(pthread_cond_signal);
  record_sync(condition, Sync::release);
  wake(condition, true);
  return real(condition);
}

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  NEARFAR_NEXT(pthread_cond_broadcast);
  record_sync(condition, Sync::release);
  wake(condition);
  return real(condition);
}

int pthread_barrier_init(pthread_barrier_t* barrier, const pthread_barrierattr_t* attributes,
                         unsigned count) noexcept {
  NEARFAR_NEXT(pthread_barrier_init);
  const int result = real(barrier, attributes, count);
  if (header() == nullptr || result != 0) return result;
  Barrier* entry = find(barrier);
  if (entry == nullptr) entry = find(nullptr);
  if (entry != nullptr) *entry = {barrier, count, 0};
  return result;
}

int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
  NEARFAR_NEXT(pthread_barrier_wait);
  Barrier* const entry = scheduled() ? find(barrier) : nullptr;
  if (entry == nullptr) return real(barrier);
  record_sync(barrier, Sync::release);
  if (++entry->arrived < entry->count) {
    wait_for(barrier);
    record_sync(barrier, Sync::acquire);
    return 0;
  }
  record_sync(barrier, Sync::acquire);
  entry->arrived = 0;
  wake(barrier);
  return PTHREAD_BARRIER_SERIAL_THREAD;
}

int pthread_barrier_destroy(pthread_barrier_t* barrier) noexcept {
  NEARFAR_NEXT(pthread_barrier_destroy);
  if (Barrier* const entry = find(barrier); entry != nullptr) *entry = {};
  return real(barrier);
}

int sem_wait(sem_t* semaphore) {
  NEARFAR_NEXT(sem_wait);
  return scheduled() ? acquire_semaphore(semaphore, false) : real(semaphore);
}

int sem_timedwait(sem_t* semaphore, const struct timespec* until) {
  NEARFAR_NEXT(sem_timedwait);
  return scheduled() ? acquire_semaphore(semaphore, true) : real(semaphore, until);
}

int sem_clockwait(sem_t* semaphore, clockid_t clock, const struct timespec* until) {
  NEARFAR_NEXT(sem_clockwait);
  return scheduled() ? acquire_semaphore(semaphore, true) : real(semaphore, clock, until);
}

// C++'s call_once calls this too. The routine may throw through this function.
int pthread_once(pthread_once_t* control, void (*routine)()) {
  NEARFAR_NEXT(pthread_once);
  // The recorder's own unwinder calls it too.
  if (!scheduled() || Lock::held_here()) return real(control, routine);
  if (state_of(control) != once_done)
    may_switch({NF_CRASH_STEP_LOCK, number_of_object(control), 1});
  while (state_of(control) == once_runs) yield_turn();
  const Sync sync = state_of(control) == once_done ? Sync::acquire : Sync::release;
  const int result = real(control, routine);
  record_sync(control, sync);
  return result;
}

// Threads do not sleep: other threads get the turn instead.
#define NEARFAR_SLEEP(result, name, parameters, arguments) \
  result name parameters {                                 \
    NEARFAR_NEXT(name);                                    \
    if (!scheduled()) return real arguments;               \
    yield_turn();                                          \
    return 0;                                              \
  }
NEARFAR_SLEEP(int, nanosleep, (const struct timespec* count, struct timespec* left), (count, left))
NEARFAR_SLEEP(int, clock_nanosleep,
              (clockid_t clock, int flags, const struct timespec* count, struct timespec* left),
              (clock, flags, count, left))
NEARFAR_SLEEP(int, usleep, (useconds_t count), (count))
NEARFAR_SLEEP(unsigned, sleep, (unsigned count), (count))

int sched_yield() noexcept {
  NEARFAR_NEXT(sched_yield);
  if (scheduled()) yield_turn();
  return real();
}
}
#pragma GCC visibility pop
