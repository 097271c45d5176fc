#include "collectives/data_plane/data_plane.hpp"

#include "collectives/data_plane/detail/connection_listener.hpp"
#include "core/fail.hpp"

#include <array>

#include <openssl/rand.h>

namespace troupe::collectives {

Result<std::shared_ptr<DataPlane>> DataPlane::open(const DataPlaneOptions& options) {
  net::TlsContext tls;
  if (options.tls.enabled()) {
    TROUPE_TRY(tls, net::open_tls(options.tls));
  }
  TROUPE_TRY(auto listener, net::listen_on(options.listen));
  return std::shared_ptr<DataPlane>{new DataPlane{std::make_shared<ConnectionListener>(
      std::move(listener), std::move(tls), options.handshake)}};
}

std::uint16_t DataPlane::port() const {
  return listener_->port();
}

std::shared_ptr<ConnectionGroup> DataPlane::join_group(std::int64_t generation,
                                                       const std::string& secret) {
  const std::lock_guard lock{mutex_};
  if (!connection_group_ || connection_group_->generation() != generation) {
    const auto key = generation_key(generation, secret);
    connection_group_ = std::make_shared<ConnectionGroup>(listener_, generation, key);
    listener_->expect(key);
  }
  return connection_group_;
}

void DataPlane::cancel(std::int64_t generation, const Error& reason) {
  const std::lock_guard lock{mutex_};
  if (connection_group_ && connection_group_->generation() == generation)
    connection_group_->cancel(reason);
}

Result<std::string> make_secret() {
  std::array<unsigned char, 16> bytes = {};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    return fail(Errc::internal, "the system provides no random bytes for a secret");
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

} // namespace troupe::collectives
