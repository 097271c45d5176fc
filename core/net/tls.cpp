#include "core/net/tls.hpp"

#include "core/fail.hpp"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <cstring>

#include <sys/stat.h>

namespace troupe::net {

namespace {

/// Returns the reason why a call of OpenSSL failed: its first error. The rest of the queue only
/// lists the callers.
std::string first_error() {
  const auto code = ERR_peek_error();
  ERR_clear_error();
  if (ERR_SYSTEM_ERROR(code))
    return std::strerror(ERR_GET_REASON(code));
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "OpenSSL gives no reason";
}

tl::unexpected<Error> wrong_file(const char* key, const std::string& file) {
  return fail(Errc::invalid_input, "cluster.tls.{}: {}: {}", key, file, first_error());
}

/// A key may be readable by its group: Kubernetes mounts secrets this way for processes that do not
/// run as root.
Status check_not_public(const std::string& key) {
  struct stat status {};
  if (::stat(key.c_str(), &status) != 0)
    return {}; // OpenSSL reports why
  if ((status.st_mode & (S_IROTH | S_IWOTH)) == 0)
    return {};
  return fail(
      Errc::invalid_input,
      "cluster.tls.key: {}: every user of this machine can {} it: run chmod o= on it, and replace "
      "the key if others may have read it",
      key, (status.st_mode & S_IWOTH) != 0 ? "write" : "read");
}

/// Verifies that the authority has signed this node's certificate and that both are valid today.
Status verify_own(SSL_CTX& context, const TlsConfig& tls) {
  const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> check{X509_STORE_CTX_new(),
                                                                              X509_STORE_CTX_free};
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get0_chain_certs(&context, &chain);
  X509_STORE_CTX_init(check.get(), SSL_CTX_get_cert_store(&context),
                      SSL_CTX_get0_certificate(&context), chain);
  if (X509_verify_cert(check.get()) == 1)
    return {};
  ERR_clear_error();
  return fail(Errc::invalid_input, "cluster.tls.certificate: {}: {} (authority: {})",
              *tls.certificate,
              X509_verify_cert_error_string(X509_STORE_CTX_get_error(check.get())), *tls.ca);
}

/// OpenSSL checks the names of both accepted and outgoing connections.
void pin_names(SSL_CTX& context, const std::vector<std::string>& names) {
  auto* const asked = SSL_CTX_get0_param(&context);
  X509_VERIFY_PARAM_set_hostflags(asked, X509_CHECK_FLAG_ALWAYS_CHECK_SUBJECT |
                                             X509_CHECK_FLAG_NO_WILDCARDS);
  for (const auto& name : names)
    X509_VERIFY_PARAM_add1_host(asked, name.data(), name.size());
}

void resume_no_session(SSL_CTX& context) {
  SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(&context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(&context, 0);
}

std::string why_distrusted(long verdict) {
  if (verdict == X509_V_ERR_HOSTNAME_MISMATCH)
    return "its name is not in cluster.tls.names";
  return X509_verify_cert_error_string(verdict);
}

/// One of the two clocks may be wrong, or the peer may get a new certificate.
bool is_of_clocks(long verdict) {
  return verdict == X509_V_ERR_CERT_NOT_YET_VALID || verdict == X509_V_ERR_CERT_HAS_EXPIRED;
}

bool is_end_of_connection([[maybe_unused]] int reason) {
#ifdef SSL_R_UNEXPECTED_EOF_WHILE_READING // since OpenSSL 3
  return reason == SSL_R_UNEXPECTED_EOF_WHILE_READING;
#else
  return false;
#endif
}

} // namespace

Result<TlsContext> open_tls(const TlsConfig& tls) {
  ERR_clear_error();
  TlsContext context{SSL_CTX_new(TLS_method())};
  if (!context)
    return fail(Errc::internal, "cannot use TLS: {}", first_error());
  // Passphrases are not supported: a daemon has no terminal to ask for one.
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return 0; });
  if (SSL_CTX_use_certificate_chain_file(context.get(), tls.certificate->c_str()) != 1)
    return wrong_file("certificate", *tls.certificate);
  TROUPE_TRY(check_not_public(*tls.key));
  // Also checks that the key belongs to the certificate.
  if (SSL_CTX_use_PrivateKey_file(context.get(), tls.key->c_str(), SSL_FILETYPE_PEM) != 1)
    return wrong_file("key", *tls.key);
  if (SSL_CTX_load_verify_locations(context.get(), tls.ca->c_str(), nullptr) != 1)
    return wrong_file("ca", *tls.ca);
  TROUPE_TRY(verify_own(*context, tls));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  pin_names(*context, tls.names);
  resume_no_session(*context);
  return context;
}

TlsProblem tls_problem(const SSL& session) {
  if (const auto verdict = SSL_get_verify_result(&session); verdict != X509_V_OK) {
    ERR_clear_error();
    return {.distrusted = true, .may_pass = is_of_clocks(verdict), .why = why_distrusted(verdict)};
  }
  const auto code = ERR_peek_error();
  if (code == 0)
    return {.may_pass = true, .why = "it does not answer"};
  const int reason = ERR_GET_REASON(code);
  auto why = first_error();
  if (reason == SSL_R_SSLV3_ALERT_BAD_CERTIFICATE) // also if the peer does not accept our name
    why += "; does cluster.tls.names of the peer contain this node's name?";
  // Alerts of the peer are numbered from this offset on.
  return {.refused = reason >= SSL_AD_REASON_OFFSET,
          .may_pass = ERR_SYSTEM_ERROR(code) || is_end_of_connection(reason),
          .why = std::move(why)};
}

} // namespace troupe::net
