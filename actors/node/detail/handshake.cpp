#include "actors/node/detail/handshake.hpp"

#include "core/fail.hpp"
#include "core/net/sigpipe.hpp"
#include "core/net/socket.hpp"
#include "core/net/tls.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <tuple>

#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

namespace troupe::actors {

namespace {

constexpr std::string_view id_begin = "troupe ";

/// A daemon without TLS sends its handshake within this time. A slower one sends it in spite of our
/// ClientHello.
constexpr std::chrono::milliseconds default_wait{200};

/// Returns the bytes of a TLS ClientHello (RFC 8446).
std::string offer_of_tls() {
  const net::TlsContext context{SSL_CTX_new(TLS_method())};
  const net::TlsSession session{SSL_new(context.get())};
  SSL_set_bio(session.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_connect(session.get()); // as far as possible without an answer
  char* bytes = nullptr;
  const auto size = BIO_get_mem_data(SSL_get_wbio(session.get()), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

/// Whether the bytes begin with a TLS record of type handshake or alert.
bool is_of_tls(std::string_view bytes) {
  constexpr char alert = 21, handshake = 22, version = 3;
  return bytes.size() > 1 && (bytes[0] == alert || bytes[0] == handshake) && bytes[1] == version;
}

/// A connection to a daemon, until its handshake has arrived.
class Visit {
public:
  Visit(const Endpoint& daemon, const TlsConfig& tls, std::chrono::milliseconds timeout)
      : daemon_{daemon}, tls_{tls}, timeout_{timeout}, deadline_{Clock::now() + timeout} {}

  Status connect();
  /// Returns the handshake's payload; empty if the bytes are not a handshake.
  Result<std::string> handshake();
  /// Whether the handshake was incomplete: the peer is frozen, or ends.
  bool is_silent() const { return silent_; }

private:
  using Clock = std::chrono::steady_clock;

  /// Returns the events that a call with this result waits for; 0 if the call has failed.
  short wanted(ssize_t result) const;
  /// Waits for one of these events. Returns false when the time is up, and at once for no events.
  bool await(short events, std::chrono::milliseconds most) const;
  bool await(short events) const { return await(events, timeout_); }
  Status secure();
  tl::unexpected<Error> refused();
  /// Sends a ClientHello if no handshake arrives: a daemon with TLS waits for one.
  void speak_first();
  /// Returns up to `size` bytes; 0 when no more arrive.
  std::size_t read(char* to, std::size_t size);
  std::string read_exactly(std::size_t size);

  const Endpoint& daemon_;
  const TlsConfig& tls_;
  std::chrono::milliseconds timeout_;
  Clock::time_point deadline_;
  net::NoSigpipe no_sigpipe_; ///< OpenSSL writes without MSG_NOSIGNAL
  net::Descriptor socket_;
  net::TlsContext context_;
  net::TlsSession session_;
  bool silent_ = false;
};

Status Visit::connect() {
  if (tls_.enabled()) {
    TROUPE_TRY(context_, net::open_tls(tls_));
  }
  const net::Wakeup never;
  TROUPE_TRY(socket_, net::connect_to(daemon_, timeout_, never));
  return context_ ? secure() : Status{};
}

short Visit::wanted(ssize_t result) const {
  if (!session_)
    return result < 0 && (errno == EAGAIN || errno == EINTR) ? POLLIN : 0;
  switch (SSL_get_error(session_.get(), static_cast<int>(result))) {
  case SSL_ERROR_WANT_READ:
    return POLLIN;
  case SSL_ERROR_WANT_WRITE:
    return POLLOUT;
  default:
    return 0;
  }
}

bool Visit::await(short events, std::chrono::milliseconds most) const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
  if (events == 0 || left.count() <= 0)
    return false;
  pollfd waiting{socket_.number(), events, 0};
  return ::poll(&waiting, 1, static_cast<int>(std::min(left, most).count())) > 0;
}

Status Visit::secure() {
  session_.reset(SSL_new(context_.get()));
  SSL_set_fd(session_.get(), socket_.number());
  int result = 0;
  do {
    ERR_clear_error(); // otherwise SSL_get_error would report an old error for this call
    result = SSL_connect(session_.get());
  } while (result != 1 && await(wanted(result)));
  return result == 1 ? Status{} : refused();
}

tl::unexpected<Error> Visit::refused() {
  const auto problem = net::tls_problem(*session_);
  const auto at = to_string(daemon_);
  if (problem.distrusted)
    return fail(problem.may_pass ? Whose::there : Whose::here, Errc::network,
                "the certificate of the daemon at {} is not trusted: {} (cluster.tls.ca: {})", at,
                problem.why, *tls_.ca);
  if (problem.refused) // although it passes our own check: the peer's clock or config may be wrong
    return fail(Whose::there, Errc::network, "the daemon at {} refuses the certificate {}: {}", at,
                *tls_.certificate, problem.why);
  return fail(problem.may_pass ? Whose::there : Whose::here, Errc::network,
              "no TLS connection to the process that listens at {}: {}; if it is a troupe daemon, "
              "its config lacks cluster.tls",
              at, problem.why);
}

void Visit::speak_first() {
  if (await(POLLIN, default_wait))
    return;
  const auto offer = offer_of_tls();
  std::ignore = ::send(socket_.number(), offer.data(), offer.size(), MSG_NOSIGNAL);
}

std::size_t Visit::read(char* to, std::size_t size) {
  ssize_t count = 0;
  do {
    ERR_clear_error();
    count = session_ ? SSL_read(session_.get(), to, static_cast<int>(size))
                     : ::recv(socket_.number(), to, size, 0);
  } while (count <= 0 && await(wanted(count)));
  return count > 0 ? static_cast<std::size_t>(count) : 0;
}

std::string Visit::read_exactly(std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    const auto more = read(bytes.data() + have, size - have);
    if (more == 0)
      break;
    have += more;
  }
  bytes.resize(have);
  return bytes;
}

/// The header is CAF's BASP, version 4 (libcaf_io/caf/io/basp/header.hpp): operation (0: server
/// handshake), two bytes of padding, flags, length of the payload, version, two actors; big-endian.
Result<std::string> Visit::handshake() {
  constexpr std::size_t header_size = 32, most = 4 << 10;
  if (!session_)
    speak_first();
  const auto header = read_exactly(header_size);
  silent_ = header.size() < header_size;
  if (header.empty() && session_) // with TLS 1.3, our certificate is refused only now
    return refused();
  if (!session_ && is_of_tls(header))
    return fail(
        Errc::network,
        "the daemon at {} accepts only connections with a certificate: set cluster.tls, or pass "
        "--tls-cert, --tls-key and --tls-ca",
        to_string(daemon_));
  const auto number = [&header](std::size_t from, std::size_t bytes) {
    std::uint64_t value = 0;
    for (const char c : std::string_view{header}.substr(from, bytes))
      value = value << 8 | static_cast<unsigned char>(c);
    return value;
  };
  if (header.size() < header_size || number(0, 4) != 0 || number(8, 8) != 4 || number(4, 4) > most)
    return std::string{};
  auto payload = read_exactly(number(4, 4));
  silent_ = payload.size() < number(4, 4);
  return payload;
}

/// Returns the application id in a handshake: a string with its length in the byte before. Empty:
/// not one of ours.
std::string_view find_id(std::string_view handshake) {
  const auto at = handshake.find(id_begin);
  if (at == std::string_view::npos || at == 0)
    return {};
  return handshake.substr(at, static_cast<unsigned char>(handshake[at - 1]));
}

} // namespace

std::string application_id(const std::string& version) {
  return std::string{id_begin} + version;
}

Status check_handshake(const Endpoint& daemon, const NetworkOptions& options,
                       std::chrono::milliseconds timeout) {
  Visit visit{daemon, options.tls, timeout};
  TROUPE_TRY(visit.connect());
  TROUPE_TRY(const auto handshake, visit.handshake());
  const std::string theirs{find_id(handshake)}, ours = application_id(options.version);
  if (theirs.empty())
    return fail(visit.is_silent() ? Whose::there : Whose::here, Errc::network,
                "the process that listens at {} does not answer like a troupe daemon {}",
                to_string(daemon), options.tls.enabled() ? "with TLS" : "without TLS");
  if (theirs != ours)
    return fail(Errc::network,
                "the daemon at {} is {}, but this program is {}; use the same version",
                to_string(daemon), theirs, ours);
  return {};
}

} // namespace troupe::actors
