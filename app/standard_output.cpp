#include "app/standard_output.hpp"

#include "app/report_error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include <fcntl.h>

namespace troupe::app {

void hold_standard_streams() {
  for (const int stream : {0, 1, 2})
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF) // open() takes the lowest free number
      ::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
}

bool printed_all() {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout)
    return true;
  const int number = errno; // 0 if only an earlier write failed
  report_error(fmt::format("standard output: {}",
                           number ? std::strerror(number) : "not all of it could be written"));
  return false;
}

} // namespace troupe::app
