// Preloaded into a program: allows at most $TROUPE_TEST_THREADS threads beside the first, as a
// limit on processes and threads does (ulimit -u), which does not apply to the super-user.
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include <dlfcn.h>
#include <pthread.h>

namespace {

using Function = void* (*)(void*);

std::atomic<int> running = 0;

struct Start {
  Function function;
  void* argument;
  ~Start() { --running; }
};

void* run(void* start) {
  const std::unique_ptr<Start> own{static_cast<Start*>(start)};
  return own->function(own->argument);
}

} // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              Function function, void* argument) noexcept {
  static const auto create =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  std::unique_ptr<Start> start{new Start{function, argument}};
  if (++running > std::atoi(std::getenv("TROUPE_TEST_THREADS")))
    return EAGAIN;
  const int error = create(thread, attributes, run, start.get());
  if (error == 0)
    static_cast<void>(start.release());
  return error;
}
