#include "tests/emulation/nccl/socket.hpp"

#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace emulation::nccl {

namespace {

/// An address in Linux's abstract namespace: no file remains when the process is killed.
class Address {
public:
  explicit Address(const std::string& name) {
    address_.sun_family = AF_UNIX;
    name.copy(address_.sun_path + 1, sizeof address_.sun_path - 1);
    length_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t length() const { return length_; }

private:
  sockaddr_un address_ = {};
  socklen_t length_;
};

int new_socket() {
  return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

/// Calls `move(done)` until all bytes are moved. Returns false on an error or at the end of the
/// stream.
template <class Move>
bool move_all(std::size_t bytes, Move move) {
  for (std::size_t done = 0; done < bytes;) {
    const auto moved = move(done);
    if (moved == 0 || (moved < 0 && errno != EINTR))
      return false;
    done += moved > 0 ? static_cast<std::size_t>(moved) : 0;
  }
  return true;
}

} // namespace

Socket::~Socket() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

Socket Socket::listening(const std::string& name) {
  const Address address{name};
  Socket made{new_socket()};
  if (::bind(made.descriptor_, address.get(), address.length()) != 0 ||
      ::listen(made.descriptor_, SOMAXCONN) != 0)
    return Socket{};
  return made;
}

Socket Socket::connected(const std::string& name) {
  const Address address{name};
  Socket made{new_socket()};
  if (::connect(made.descriptor_, address.get(), address.length()) != 0)
    return Socket{};
  return made;
}

Socket Socket::accept() const {
  int accepted = -1;
  do
    accepted = ::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC);
  while (accepted < 0 && (errno == EINTR || errno == ECONNABORTED));
  return Socket{accepted};
}

bool Socket::send(const void* data, std::size_t bytes) const {
  const auto* const begin = static_cast<const std::byte*>(data);
  return move_all(bytes, [&](std::size_t done) {
    return ::send(descriptor_, begin + done, bytes - done, MSG_NOSIGNAL);
  });
}

bool Socket::receive(void* data, std::size_t bytes) const {
  auto* const begin = static_cast<std::byte*>(data);
  return move_all(
      bytes, [&](std::size_t done) { return ::recv(descriptor_, begin + done, bytes - done, 0); });
}

void Socket::shut() const {
  ::shutdown(descriptor_, SHUT_RDWR);
}

} // namespace emulation::nccl
