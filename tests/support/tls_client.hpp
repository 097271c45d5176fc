/// A TLS request as a browser sends it that does not know the authority.
#pragma once

#include "tests/support/http_client.hpp"

#include <memory>
#include <stdexcept>
#include <string>

#include <openssl/ssl.h>

namespace troupe::testing {

class TlsClient {
public:
  /// `client`: a connection that must outlive this object.
  explicit TlsClient(const Client& client)
      : context_{SSL_CTX_new(TLS_client_method()), SSL_CTX_free}, session_{SSL_new(context_.get()),
                                                                           SSL_free} {
    SSL_set_fd(session_.get(), client.number());
    if (SSL_connect(session_.get()) != 1)
      throw std::runtime_error("no TLS");
  }

  void send(const std::string& text) const {
    if (SSL_write(session_.get(), text.data(), static_cast<int>(text.size())) <= 0)
      throw std::runtime_error("cannot send over TLS");
  }
  /// Reads until the server has sent `end`, or until the end of the connection.
  std::string receive_until(const std::string& end) const {
    std::string text;
    std::array<char, 4096> piece{};
    while (end.empty() || text.find(end) == std::string::npos) {
      const auto count = SSL_read(session_.get(), piece.data(), piece.size());
      if (count <= 0)
        break;
      text.append(piece.data(), static_cast<std::size_t>(count));
    }
    return text;
  }
  std::string receive_all() const { return receive_until({}); }
  /// Sends the TLS close notification.
  void end() const { SSL_shutdown(session_.get()); }
  /// Returns the name in the subject of the server's certificate.
  std::string server_name() const {
    const std::unique_ptr<X509, decltype(&X509_free)> certificate{
        SSL_get1_peer_certificate(session_.get()), X509_free};
    std::array<char, 256> name{};
    X509_NAME_oneline(X509_get_subject_name(certificate.get()), name.data(), name.size());
    return name.data();
  }

private:
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> session_;
};

inline HttpReply https(const Client& client, const std::string& path,
                       const std::string& headers = {}) {
  const TlsClient tls{client};
  tls.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
  HttpReply reply{tls.receive_all()};
  tls.end();
  return reply;
}

} // namespace troupe::testing
