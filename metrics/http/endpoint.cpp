#include "metrics/http/endpoint.hpp"

#include "core/fail.hpp"
#include "core/net/socket.hpp"
#include "metrics/http/detail/server.hpp"

namespace troupe::metrics {

namespace {

namespace ssl = boost::asio::ssl;

tl::unexpected<Error> unusable(const char* key, const std::string& file,
                               const boost::system::error_code& why) {
  return fail(Errc::invalid_input, "cluster.tls.{}: {}: {}", key, file, why.message());
}

/// Returns null if no certificate is set. Clients need no certificate. Error: invalid_input, with
/// the config key and the file.
Result<HttpsContext> open_https(const EndpointSecurity& security) {
  if (!security.certificate || !security.key)
    return HttpsContext{};
  auto context = std::make_unique<ssl::context>(ssl::context::tls_server);
  context->set_options(ssl::context::default_workarounds | ssl::context::no_tlsv1 |
                       ssl::context::no_tlsv1_1 | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(context->native_handle(), SSL_SESS_CACHE_OFF);
  // Without a passphrase: no user could type it into a daemon.
  context->set_password_callback([](auto&&...) { return std::string{}; });
  boost::system::error_code error;
  context->use_certificate_chain_file(*security.certificate, error);
  if (error)
    return unusable("certificate", *security.certificate, error);
  context->use_private_key_file(*security.key, ssl::context::pem, error);
  if (error)
    return unusable("key", *security.key, error);
  return context;
}

} // namespace

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
