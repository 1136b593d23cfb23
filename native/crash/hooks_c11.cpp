// Threads of C11. In glibc they are POSIX threads, mutexes, conditions and once flags with other
// names and results. They call the POSIX functions inside libc, which no hook can interpose.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <threads.h>
#include <time.h>

namespace {

int result_of(int error) {
  switch (error) {
    case 0:
      return thrd_success;
    case EBUSY:
      return thrd_busy;
    case ENOMEM:
      return thrd_nomem;
    case ETIMEDOUT:
      return thrd_timedout;
    default:
      return thrd_error;
  }
}

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t) &&
              sizeof(once_flag) == sizeof(pthread_once_t) && sizeof(thrd_t) == sizeof(pthread_t));
pthread_mutex_t* posix(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
pthread_cond_t* posix(cnd_t* condition) { return reinterpret_cast<pthread_cond_t*>(condition); }

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int thrd_create(thrd_t* thread, thrd_start_t start, void* argument) {
  // The upper half of pthread_join's result is undefined and not used.
  auto* const function = reinterpret_cast<void* (*)(void*)>(reinterpret_cast<void (*)()>(start));
  const int error = pthread_create(thread, nullptr, function, argument);
  return result_of(error == EAGAIN ? ENOMEM : error);
}

int thrd_join(thrd_t thread, int* answer) {
  void* result = nullptr;
  const int error = pthread_join(thread, &result);
  if (answer != nullptr) *answer = static_cast<int>(reinterpret_cast<intptr_t>(result));
  return result_of(error);
}

int thrd_sleep(const struct timespec* count, struct timespec* left) {
  // -1 for a signal, -2 for other errors.
  const int error = clock_nanosleep(CLOCK_REALTIME, 0, count, left);
  return error == 0 ? 0 : error == EINTR ? -1 : -2;
}

void thrd_yield() { sched_yield(); }

int mtx_lock(mtx_t* mutex) { return result_of(pthread_mutex_lock(posix(mutex))); }

int mtx_timedlock(mtx_t* mutex, const struct timespec* until) {
  return result_of(pthread_mutex_timedlock(posix(mutex), until));
}

int mtx_trylock(mtx_t* mutex) { return result_of(pthread_mutex_trylock(posix(mutex))); }

int mtx_unlock(mtx_t* mutex) { return result_of(pthread_mutex_unlock(posix(mutex))); }

int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  return result_of(pthread_cond_wait(posix(condition), posix(mutex)));
}

int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const struct timespec* until) {
  return result_of(pthread_cond_timedwait(posix(condition), posix(mutex), until));
}

int cnd_signal(cnd_t* condition) { return result_of(pthread_cond_signal(posix(condition))); }

int cnd_broadcast(cnd_t* condition) { return result_of(pthread_cond_broadcast(posix(condition))); }

void call_once(once_flag* flag, void (*function)()) {
  pthread_once(reinterpret_cast<pthread_once_t*>(flag), function);
}
}
#pragma GCC visibility pop
