#include "metrics/http/detail/https.hpp"

#include "core/fail.hpp"

namespace troupe::metrics {

namespace {

namespace ssl = boost::asio::ssl;

tl::unexpected<Error> unusable(const char* key, const std::string& file,
                               const boost::system::error_code& why) {
  return fail(Errc::invalid_input, "cluster.tls.{}: {}: {}", key, file, why.message());
}

} // namespace

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

} // namespace troupe::metrics
