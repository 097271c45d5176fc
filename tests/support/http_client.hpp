/// Sends one HTTP request over a plain socket.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace troupe::testing {

/// A connection to a port of this machine or of `host`.
class Client {
public:
  explicit Client(std::uint16_t port, in_addr host = {htonl(INADDR_LOOPBACK)})
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr = host;
    address.sin_port = htons(port);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      ::close(socket_);
      throw std::runtime_error("cannot connect to port " + std::to_string(port));
    }
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { ::close(socket_); }

  void send(const std::string& text) const {
    if (::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(text.size()))
      throw std::runtime_error("cannot send");
  }

  /// Reads until the server closes the connection.
  std::string receive_all() const {
    std::string text;
    std::array<char, 4096> piece{};
    for (ssize_t count; (count = ::recv(socket_, piece.data(), piece.size(), 0)) > 0;)
      text.append(piece.data(), static_cast<std::size_t>(count));
    return text;
  }

  /// Reads until the server has sent `end` or closed the connection. Returns everything read, which
  /// may extend past `end`.
  std::string receive_until(const std::string& end) const {
    std::string text;
    std::array<char, 4096> piece{};
    while (text.find(end) == std::string::npos) {
      const auto count = ::recv(socket_, piece.data(), piece.size(), 0);
      if (count <= 0)
        break;
      text.append(piece.data(), static_cast<std::size_t>(count));
    }
    return text;
  }
  int number() const { return socket_; }

private:
  int socket_;
};

struct HttpReply {
  HttpReply() = default;
  explicit HttpReply(const std::string& text) {
    const auto end = text.find("\r\n\r\n");
    if (end == std::string::npos || text.size() < 12)
      throw std::runtime_error("no HTTP reply: " + text);
    status = std::stoi(text.substr(9, 3));
    head = text.substr(0, end);
    body = text.substr(end + 4);
  }

  int status = 0;
  std::string head, body;
};

/// `headers`: each ends in "\r\n".
inline HttpReply http(std::uint16_t port, const std::string& path,
                      const std::string& method = "GET", const std::string& headers = {}) {
  const Client client(port);
  client.send(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
              headers + "\r\n");
  return HttpReply{client.receive_all()};
}

/// Scrapes as Prometheus does.
inline HttpReply scrape(std::uint16_t port) {
  return http(port, "/metrics", "GET", "X-Prometheus-Scrape-Timeout-Seconds: 1\r\n");
}

} // namespace troupe::testing
