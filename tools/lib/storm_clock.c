/* Shifts the wall clock of a process that preloads this library by the nanoseconds in the file
 * $STORM_CLOCK, also while it runs. Monotonic clocks do not change, as when a wall clock is set. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { SECOND = 1000000000 };

static volatile const int64_t* offset;
static int (*read_clock)(clockid_t, struct timespec*);

__attribute__((constructor)) static void find(void) {
  read_clock = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const char* path = getenv("STORM_CLOCK");
  const int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0)
    return;
  void* mapped = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED)
    offset = mapped;
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  if (!read_clock) /* before the constructor, on one thread */
    read_clock = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int failed = read_clock(clock, time);
  if (failed || !offset || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
    return failed;
  const int64_t shifted = time->tv_sec * (int64_t)SECOND + time->tv_nsec + *offset;
  time->tv_sec = shifted / SECOND;
  time->tv_nsec = shifted % SECOND;
  return 0;
}

int gettimeofday(struct timeval* restrict time, void* restrict zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out)
    *out = now.tv_sec;
  return now.tv_sec;
}
