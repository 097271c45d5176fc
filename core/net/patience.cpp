#include "core/net/patience.hpp"

#include "core/fail.hpp"
#include "core/net/sigpipe.hpp"
#include "core/units.hpp"

#include <array>
#include <cerrno>

#include <poll.h>

namespace troupe::net {

namespace {

Status await(const Connection& connection, short events, const Patience& patience) {
  std::array<pollfd, 2> waiting = {
      {{connection.number(), events, 0}, {patience.cancelled->number(), POLLIN, 0}}};
  const int ready =
      ::poll(waiting.data(), waiting.size(), static_cast<int>(patience.timeout.count()));
  if (waiting[1].revents != 0)
    return fail(Errc::network, "{}: cancelled", connection.name());
  if (ready == 0)
    return fail(Errc::network, "{}: nothing for {}", connection.name(),
                format_duration(patience.timeout));
  return {};
}

} // namespace

Status read_all(Connection& connection, std::span<std::byte> to, const Patience& patience) {
  const NoSigpipe no_sigpipe;
  while (!to.empty()) {
    TROUPE_TRY(const auto count, connection.read(to));
    to = to.subspan(count);
    if (count == 0)
      TROUPE_TRY(await(connection, connection.read_events(), patience));
  }
  return {};
}

Status write_all(Connection& connection, std::span<const std::byte> from,
                 const Patience& patience) {
  const NoSigpipe no_sigpipe;
  while (!from.empty()) {
    TROUPE_TRY(const auto count, connection.write(from));
    from = from.subspan(count);
    if (count == 0)
      TROUPE_TRY(await(connection, connection.write_events(), patience));
  }
  return {};
}

} // namespace troupe::net
