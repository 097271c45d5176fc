#include "core/net/io_deadline.hpp"

#include "core/fail.hpp"
#include "core/net/sigpipe.hpp"
#include "core/net/wait.hpp"
#include "core/units.hpp"

#include <array>

namespace troupe::net {

namespace {

Status await(const Connection& connection, short events, const IoDeadline& io_deadline) {
  std::array<pollfd, 2> waiting = {
      {{connection.number(), events, 0}, {io_deadline.cancelled->number(), POLLIN, 0}}};
  const bool ready = wait_until(waiting, std::chrono::steady_clock::now() + io_deadline.timeout);
  if (waiting[1].revents != 0)
    return fail(Errc::network, "{}: cancelled", connection.name());
  if (!ready)
    return fail(Errc::network, "{}: no data for {}", connection.name(),
                format_duration(io_deadline.timeout));
  return {};
}

} // namespace

Status read_all(Connection& connection, std::span<std::byte> to, const IoDeadline& io_deadline) {
  const NoSigpipe no_sigpipe;
  while (!to.empty()) {
    TROUPE_TRY(const auto count, connection.read(to));
    to = to.subspan(count);
    if (count == 0)
      TROUPE_TRY(await(connection, connection.read_events(), io_deadline));
  }
  return {};
}

Status write_all(Connection& connection, std::span<const std::byte> from,
                 const IoDeadline& io_deadline) {
  const NoSigpipe no_sigpipe;
  while (!from.empty()) {
    TROUPE_TRY(const auto count, connection.write(from));
    from = from.subspan(count);
    if (count == 0)
      TROUPE_TRY(await(connection, connection.write_events(), io_deadline));
  }
  return {};
}

} // namespace troupe::net
