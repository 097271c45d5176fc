/// The server's TLS certificate.
#pragma once

#include "metrics/http/endpoint.hpp"

#include <memory>

#include <boost/asio/ssl/context.hpp>

namespace troupe::metrics {

using HttpsContext = std::unique_ptr<boost::asio::ssl::context>;

/// Returns null if no certificate is set. Clients need no certificate. Error: invalid_input, with
/// the config key and the file.
Result<HttpsContext> open_https(const EndpointSecurity& security);

} // namespace troupe::metrics
