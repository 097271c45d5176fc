#include "metrics/http/endpoint.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/net/descriptor.hpp"
#include "core/net/socket.hpp"
#include "metrics/http/detail/server.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

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

constexpr std::size_t longest_line = 1000;

tl::unexpected<Error> bad_password_file(const std::string& file, std::string_view why) {
  return fail(Errc::invalid_input, "metrics.password_file: {}: {}", echoed(file), why);
}

/// With an access list, as systemd sets for a service's credentials, the group bits are only the
/// upper limit of its entries.
bool is_open_to_others(int file, const struct stat& status) {
  const bool listed = ::fgetxattr(file, "system.posix_acl_access", nullptr, 0) > 0;
  return (status.st_mode & (listed ? S_IRWXO : S_IRWXG | S_IRWXO)) != 0;
}

} // namespace

Result<std::string> read_password(const std::string& file) {
  const net::Descriptor opened{::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status {};
  if (!opened || ::fstat(opened.number(), &status) != 0)
    return bad_password_file(file, std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    return bad_password_file(file, "it is not a file");
  if (is_open_to_others(opened.number(), status))
    return bad_password_file(file, "users other than its owner have access: run chmod 600 on it");
  std::array<char, longest_line + 2> bytes{};
  const auto count = ::read(opened.number(), bytes.data(), bytes.size());
  if (count < 0)
    return bad_password_file(file, std::strerror(errno));
  std::string_view text{bytes.data(), static_cast<std::size_t>(count)};
  if (text.ends_with('\n'))
    text.remove_suffix(text.ends_with("\r\n") ? 2 : 1);
  if (text.empty())
    return bad_password_file(file, "it is empty, but must contain one line, the password");
  if (text.size() > longest_line || text.find_first_of("\r\n") != std::string_view::npos)
    return bad_password_file(
        file, fmt::format("it must contain one line, of at most {} bytes", longest_line));
  return std::string{text};
}

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
