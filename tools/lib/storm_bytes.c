/* Corrupts messages of a daemon that preloads this library, one in four, just before they are
 * encrypted. Without TLS ($STORM_TLS is 0) it changes the bytes that are sent. Affects only
 * connections of port $STORM_PORT, while the first byte of the file $STORM_BYTES is 1. $STORM_SEED
 * chooses the changes. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <endian.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVERY = 4, MOST = 1 << 20 };

typedef struct ssl_st SSL;

static volatile const unsigned char* is_on;
static uint64_t state;
static int port, tls;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void find(void) {
  const char *path = getenv("STORM_BYTES"), *seed = getenv("STORM_SEED");
  const int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0)
    return;
  void* mapped = mmap(NULL, 1, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED)
    return;
  state = seed ? strtoull(seed, NULL, 10) * 2 + 1 : 1;
  port = atoi(getenv("STORM_PORT"));
  tls = atoi(getenv("STORM_TLS"));
  is_on = mapped;
}

/* xorshift64* */
static uint64_t next(void) {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 2685821657736338717u;
}

static int port_of(const struct sockaddr_storage* address) {
  return address->ss_family == AF_INET ? ntohs(((const struct sockaddr_in*)address)->sin_port) : -1;
}

static int is_meant(int file) {
  struct sockaddr_storage here = {0}, there = {0};
  socklen_t size = sizeof here;
  if (!is_on || *is_on != 1 || getsockname(file, (struct sockaddr*)&here, &size) != 0)
    return 0;
  size = sizeof there;
  return getpeername(file, (struct sockaddr*)&there, &size) == 0 &&
         (port_of(&here) == port || port_of(&there) == port);
}

/* Changes a bit, a byte, or a number of four or eight bytes, or swaps two parts. */
static void change(unsigned char* bytes, size_t size) {
  static const uint64_t numbers[] = {0,          1,          0x7fffffff,       0x80000000,
                                     0xffffffff, UINT64_MAX, (uint64_t)3 << 60};
  const size_t at = next() % size;
  const size_t width = next() % 2 ? 4 : 8;
  const uint64_t number = htobe64(numbers[next() % (sizeof numbers / sizeof *numbers)]);
  switch (next() % 4) {
  case 0:
    bytes[at] ^= 1u << next() % 8;
    break;
  case 1:
    bytes[at] = (unsigned char)next();
    break;
  case 2:
    if (at + width <= size)
      memcpy(bytes + at, (const char*)&number + 8 - width, width);
    break;
  default:
    for (size_t i = 0; i < width && at + i < size; ++i) {
      const size_t other = (at + size / 2 + i) % size;
      const unsigned char byte = bytes[at + i];
      bytes[at + i] = bytes[other];
      bytes[other] = byte;
    }
  }
}

static int file_of(const SSL* ssl) {
  int (*get)(const SSL*) = (int (*)(const SSL*))dlsym(RTLD_DEFAULT, "SSL_get_fd");
  return get ? get(ssl) : -1;
}

/* Returns a changed copy, which the caller frees; null: send the original. */
static void* changed(int file, const void* bytes, size_t size) {
  if (size == 0 || size > MOST || !is_meant(file))
    return NULL;
  pthread_mutex_lock(&one_at_a_time);
  unsigned char* copy = next() % EVERY == 0 ? malloc(size) : NULL;
  if (copy) {
    memcpy(copy, bytes, size);
    change(copy, size);
  }
  pthread_mutex_unlock(&one_at_a_time);
  return copy;
}

int SSL_write(SSL* ssl, const void* bytes, int size) {
  static int (*write_plain)(SSL*, const void*, int);
  if (!write_plain)
    write_plain = (int (*)(SSL*, const void*, int))dlsym(RTLD_NEXT, "SSL_write");
  void* copy = size > 0 ? changed(file_of(ssl), bytes, (size_t)size) : NULL;
  const int written = write_plain(ssl, copy ? copy : bytes, size);
  free(copy);
  return written;
}

ssize_t send(int file, const void* bytes, size_t size, int flags) {
  static ssize_t (*send_plain)(int, const void*, size_t, int);
  if (!send_plain)
    send_plain = (ssize_t(*)(int, const void*, size_t, int))dlsym(RTLD_NEXT, "send");
  void* copy = tls ? NULL : changed(file, bytes, size);
  const ssize_t sent = send_plain(file, copy ? copy : bytes, size, flags);
  free(copy);
  return sent;
}
