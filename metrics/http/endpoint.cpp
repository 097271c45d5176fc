#include "metrics/http/endpoint.hpp"

#include "core/fail.hpp"
#include "core/net/socket.hpp"
#include "metrics/http/detail/https.hpp"
#include "metrics/http/detail/server.hpp"

namespace troupe::metrics {

Result<std::unique_ptr<HttpEndpoint>> HttpEndpoint::start(std::string_view listen,
                                                          EndpointSources sources,
                                                          const EndpointSecurity& security,
                                                          const EndpointTimes& times) {
  auto address = parse_endpoint(listen);
  if (!address)
    return fail(Errc::invalid_input, "metrics.listen: \"{}\" is not HOST:PORT", listen);
  TROUPE_TRY(auto https, open_https(security));
  auto listener = net::listen_on(*address);
  if (!listener)
    return fail(Errc::network,
                "metrics.listen: {}; choose another port, port 0 for any free one, or off",
                listener.error().message);
  address->port = listener->port;
  HttpRoutes routes{std::move(sources), {.password = security.password, .https = https != nullptr}};
  return std::unique_ptr<HttpEndpoint>(
      new HttpEndpoint(*std::move(address),
                       std::make_unique<HttpServer>(std::move(listener->socket), std::move(https),
                                                    std::move(routes), times)));
}

HttpEndpoint::HttpEndpoint(Endpoint address, std::unique_ptr<HttpServer> server)
    : address_(std::move(address)), server_(std::move(server)) {}

HttpEndpoint::~HttpEndpoint() = default;

std::optional<HttpEndpoint::Clock::time_point> HttpEndpoint::last_scrape() const {
  return server_->last_scrape();
}

} // namespace troupe::metrics
