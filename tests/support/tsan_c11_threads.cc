// Linked into test programs under ThreadSanitizer only. Debian's librdkafka is built on C11 threads. The sanitizer
// intercepts POSIX threads, and does not see the C11 ones of glibc: a thread started by thrd_create has no state of its
// own there, and its first access ends the program. In glibc the two kinds share their types (thrd_t is pthread_t,
// mtx_t and cnd_t are as large as their counterparts), so each C11 call is passed to the POSIX call that is
// intercepted.
#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <memory>

static_assert(sizeof(mtx_t) >= sizeof(pthread_mutex_t) && alignof(mtx_t) >= alignof(pthread_mutex_t));
static_assert(sizeof(cnd_t) >= sizeof(pthread_cond_t) && alignof(cnd_t) >= alignof(pthread_cond_t));

namespace {

struct Start {
  thrd_start_t function;
  void* argument;
};

void* run_thread(void* start_pointer) {
  const std::unique_ptr<Start> start(static_cast<Start*>(start_pointer));
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(start->function(start->argument)));
}

pthread_mutex_t* posix(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
pthread_cond_t* posix(cnd_t* condition) { return reinterpret_cast<pthread_cond_t*>(condition); }

int c11(int error) {
  switch (error) {
    case 0: return thrd_success;
    case ETIMEDOUT: return thrd_timedout;
    case EBUSY: return thrd_busy;
    case ENOMEM: return thrd_nomem;
    default: return thrd_error;
  }
}

}  // namespace

extern "C" {

int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  auto start = std::make_unique<Start>(Start{function, argument});
  const int error = pthread_create(thread, nullptr, run_thread, start.get());
  if (error == 0) (void)start.release();  // run_thread owns it
  return c11(error);
}

int thrd_join(thrd_t thread, int* result) {
  void* returned = nullptr;
  const int error = pthread_join(thread, &returned);
  if (error == 0 && result != nullptr) *result = static_cast<int>(reinterpret_cast<std::intptr_t>(returned));
  return c11(error);
}

int thrd_detach(thrd_t thread) { return c11(pthread_detach(thread)); }

int mtx_init(mtx_t* mutex, int type) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  const bool recursive = (type & mtx_recursive) != 0;
  pthread_mutexattr_settype(&attributes, recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
  const int error = pthread_mutex_init(posix(mutex), &attributes);
  pthread_mutexattr_destroy(&attributes);
  return c11(error);
}

void mtx_destroy(mtx_t* mutex) { pthread_mutex_destroy(posix(mutex)); }
int mtx_lock(mtx_t* mutex) { return c11(pthread_mutex_lock(posix(mutex))); }
int mtx_trylock(mtx_t* mutex) { return c11(pthread_mutex_trylock(posix(mutex))); }
int mtx_timedlock(mtx_t* mutex, const timespec* end) { return c11(pthread_mutex_timedlock(posix(mutex), end)); }
int mtx_unlock(mtx_t* mutex) { return c11(pthread_mutex_unlock(posix(mutex))); }

int cnd_init(cnd_t* condition) { return c11(pthread_cond_init(posix(condition), nullptr)); }
void cnd_destroy(cnd_t* condition) { pthread_cond_destroy(posix(condition)); }
int cnd_signal(cnd_t* condition) { return c11(pthread_cond_signal(posix(condition))); }
int cnd_broadcast(cnd_t* condition) { return c11(pthread_cond_broadcast(posix(condition))); }
int cnd_wait(cnd_t* condition, mtx_t* mutex) { return c11(pthread_cond_wait(posix(condition), posix(mutex))); }
int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* end) {
  return c11(pthread_cond_timedwait(posix(condition), posix(mutex), end));
}

}  // extern "C"
