#include "transport.hpp"

#include "troupe/collectives/detail/sums.hpp"
#include "troupe/core/fail.hpp"
#include "troupe/core/net/sigpipe.hpp"

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace troupe::collectives {

namespace {

/// How many pieces may come in before they are added; others have their place, and may all come.
constexpr std::size_t receives_ahead = 4;

/// Our store as Gloo calls it, which expects exceptions.
class GlooStore final : public gloo::rendezvous::Store {
public:
  GlooStore(KeyValueStore& store, const GlooOptions& options) : store_{store}, options_{options} {}

  void set(const std::string& key, const std::vector<char>& data) override {
    if (const auto put = store_.put(full(key), data); !put)
      throw std::runtime_error{put.error().message};
  }
  std::vector<char> get(const std::string& key) override {
    auto value = store_.wait(full(key), options_.connect_timeout);
    if (value)
      return std::move(*value);
    if (value.error().code == Errc::stopped || !value.error().where.node.empty())
      cause_ = value.error();
    throw std::runtime_error{value.error().message};
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const auto& key : keys)
      get(key);
  }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override {
    wait(keys);
  }
  /// Why there is nobody to connect to, where that is known.
  const std::optional<Error>& cause() const { return cause_; }

private:
  std::string full(const std::string& key) const {
    return fmt::format("{}/{}", options_.group, key);
  }

  KeyValueStore& store_;
  const GlooOptions& options_;
  std::optional<Error> cause_;
};

/// The library's message without the place in its sources.
std::string_view message_of(const std::exception& error) {
  std::string_view text{error.what()};
  if (text.starts_with('[') && text.find("] ") != text.npos)
    text.remove_prefix(text.find("] ") + 2);
  return text;
}

} // namespace

Transport::Transport(const GlooOptions& options)
    : options_{options}, context_{std::make_unique<gloo::rendezvous::Context>(options.rank,
                                                                              options.world_size)},
      scratch_{std::make_unique_for_overwrite<std::byte[]>(receives_ahead * piece_bytes)} {}

Transport::~Transport() = default;

Result<std::shared_ptr<Transport>> Transport::connect(const GlooOptions& options,
                                                      KeyValueStore& store) {
  const net::NoSigpipe no_sigpipe; // the device's thread inherits it
  GlooStore gloo_store{store, options};
  try {
    std::shared_ptr<Transport> transport{new Transport{options}};
    transport->context_->setTimeout(options.connect_timeout);
    gloo::transport::tcp::attr address;
    address.hostname = options.address;
    auto device = gloo::transport::tcp::CreateDevice(address);
    transport->context_->connectFullMesh(gloo_store, device);
    return transport;
  } catch (const std::exception& error) {
    if (gloo_store.cause())
      return failure(*gloo_store.cause());
    return failure({Errc::network,
                    fmt::format("rank {} could not connect to the {} ranks of {}: {}", options.rank,
                                options.world_size, options.group, message_of(error)),
                    {.rank = options.rank}});
  }
}

/// A flow on its way. Receives complete in the order in which they were posted, as they come from
/// one peer; so do sends.
class Transport::Run {
public:
  Run(Transport& transport, const Flow& flow, std::byte* memory, DType type, std::uint64_t slot)
      : transport_{transport}, flow_{flow}, memory_{memory}, type_{type}, slot_{slot},
        direct_{transport.context_->createUnboundBuffer(memory, extent())},
        scratch_{transport.context_->createUnboundBuffer(transport.scratch_.get(),
                                                         receives_ahead * piece_bytes)} {
    const std::lock_guard lock{transport_.mutex_};
    transport_.waiting_ = {direct_.get(), scratch_.get()};
  }
  ~Run() {
    const std::lock_guard lock{transport_.mutex_};
    transport_.waiting_.clear();
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Status to_end() {
    try {
      if (pass())
        return {};
      return fail(Errc::collective, "aborted");
    } catch (const std::exception& error) {
      return fail(Errc::collective, "no {} rank {}: {}", waits_for_, peer_, message_of(error));
    }
  }

private:
  /// The bytes from the first to the last that the flow touches.
  std::size_t extent() const {
    std::size_t end = 0;
    for (const auto* pieces : {&flow_.first, &flow_.received})
      for (const auto& piece : *pieces)
        end = std::max(end, piece.offset + piece.bytes);
    return end;
  }

  /// False when it was aborted.
  bool pass() {
    peer_ = flow_.from;
    for (std::size_t i = 0; i < std::min(ahead_, flow_.received.size()); ++i)
      receive(i);
    for (const auto& piece : flow_.first)
      send(piece);
    for (std::size_t i = 0; i < flow_.received.size(); ++i)
      if (!take(i))
        return false;
    peer_ = flow_.to, waits_for_ = "way to";
    for (; sends_ > 0; --sends_)
      if (!direct_->waitSend(transport_.options_.timeout))
        return false;
    return true;
  }

  void send(const Piece& piece) {
    direct_->send(flow_.to, slot_, piece.offset, piece.bytes);
    ++sends_;
  }

  bool summed(std::size_t i) const { return i < flow_.summed; }
  std::size_t scratch_offset(std::size_t i) const { return i % receives_ahead * piece_bytes; }

  void receive(std::size_t i) {
    const auto& piece = flow_.received[i];
    auto& buffer = summed(i) ? *scratch_ : *direct_;
    buffer.recv(flow_.from, slot_, summed(i) ? scratch_offset(i) : piece.offset, piece.bytes);
  }

  bool take(std::size_t i) {
    peer_ = flow_.from, waits_for_ = "word from";
    if (!(summed(i) ? scratch_ : direct_)->waitRecv(transport_.options_.timeout))
      return false;
    const auto& piece = flow_.received[i];
    if (summed(i))
      add(type_, memory_ + piece.offset, transport_.scratch_.get() + scratch_offset(i),
          piece.bytes / size_of(type_));
    peer_ = flow_.to, waits_for_ = "way to";
    if (i < flow_.forwarded)
      send(piece);
    if (i + ahead_ < flow_.received.size())
      receive(i + ahead_);
    return true;
  }

  Transport& transport_;
  const Flow& flow_;
  std::byte* memory_;
  DType type_;
  std::uint64_t slot_;
  std::unique_ptr<gloo::transport::UnboundBuffer> direct_, scratch_;
  std::size_t ahead_ = flow_.summed > 0 ? receives_ahead : flow_.received.size();
  std::size_t sends_ = 0; ///< begun and not waited for
  int peer_ = -1;         ///< whom it waits for, and how
  std::string_view waits_for_ = "word from";
};

Status Transport::run(const Flow& flow, std::byte* memory, DType type, std::uint64_t slot) {
  const std::lock_guard lock{running_};
  TROUPE_TRY(aborted());
  if (flow.first.empty() && flow.received.empty())
    return {};
  const net::NoSigpipe no_sigpipe;
  auto status = Run{*this, flow, memory, type, slot}.to_end();
  if (!status)
    abort(status.error()); // unless it was aborted before
  return status ? status : aborted();
}

Status Transport::aborted() const {
  const std::lock_guard lock{mutex_};
  return aborted_ ? failure(*aborted_) : Status{};
}

void Transport::abort(const Error& reason) {
  {
    const std::lock_guard lock{mutex_};
    if (aborted_)
      return;
    aborted_ = reason;
    for (auto* const buffer : waiting_) {
      buffer->abortWaitRecv();
      buffer->abortWaitSend();
    }
  }
  context_->closeConnections();
}

} // namespace troupe::collectives
