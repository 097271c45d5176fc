/// The certificate that the server shows.
#pragma once

#include "metrics/http/endpoint.hpp"

#include <memory>

#include <boost/asio/ssl/context.hpp>

namespace troupe::metrics {

using HttpsContext = std::unique_ptr<boost::asio::ssl::context>;

/// Null where none is set. Clients need none of their own. Error: invalid_input, with the key of
/// the config and the file.
Result<HttpsContext> open_https(const EndpointSecurity& security);

} // namespace troupe::metrics
