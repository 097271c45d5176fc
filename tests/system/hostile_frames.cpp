#include "tests/system/hostile_frames.hpp"

#include "core/net/socket.hpp"
#include "tests/system/running_program.hpp"

#include <array>
#include <future>
#include <stdexcept>

#include <caf/fwd.hpp>
#include <caf/type_id.hpp>
#include <poll.h>
#include <sys/socket.h>

namespace troupe::testing {

using namespace std::chrono_literals;

namespace {

net::Descriptor accepted_by(const net::Listener& listener) {
  pollfd waiting{listener.socket.number(), POLLIN, 0};
  if (::poll(&waiting, 1, 60'000) != 1)
    throw std::runtime_error("nobody has connected");
  return net::Descriptor{::accept4(listener.socket.number(), nullptr, nullptr, SOCK_CLOEXEC)};
}

/// Forwards bytes until `from` ends. Returns them.
std::string pass_on(int from, int to) {
  std::string passed;
  std::array<char, 4096> bytes;
  for (ssize_t count = 0; (count = ::recv(from, bytes.data(), bytes.size(), 0)) > 0;) {
    passed.append(bytes.data(), static_cast<std::size_t>(count));
    if (::send(to, bytes.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL) != count)
      break;
  }
  ::shutdown(to, SHUT_RDWR);
  return passed;
}

/// Forwards a client's connection at `listener` to the daemon. Returns the client's bytes.
std::string overheard(const net::Listener& listener, const Endpoint& daemon) {
  // The first connection only reads the handshake.
  for (bool first : {true, false}) {
    const auto asking = accepted_by(listener);
    const auto asked = net::connect_to(daemon, 60s).value();
    auto back = std::async(std::launch::async, pass_on, asked.number(), asking.number());
    auto words = pass_on(asking.number(), asked.number());
    if (!first)
      return words;
  }
  return {};
}

constexpr char direct_message = 2, monitor_message = 4;

/// Returns the length of the first frame, with its header.
std::size_t first_frame(const std::string& frames) {
  return basp_header(0, 0).size() + static_cast<unsigned char>(frames.at(7)) +
         256 * std::size_t{static_cast<unsigned char>(frames.at(6))};
}

std::string frame_of(std::string frames, char operation) {
  while (frames.at(0) != operation)
    frames.erase(0, first_frame(frames));
  return frames.substr(0, first_frame(frames));
}

std::string big_endian(std::uint16_t number) {
  return {static_cast<char>(number >> 8), static_cast<char>(number)};
}

} // namespace

std::string basp_header(char operation, std::uint32_t length, char data, char source,
                        char destination) {
  std::string bytes(32, '\0');
  bytes[0] = operation;
  for (std::size_t i = 0; i < 4; ++i)
    bytes[4 + i] = static_cast<char>(length >> (24 - 8 * i));
  bytes[15] = data;
  bytes[23] = source;
  bytes[31] = destination;
  return bytes;
}

std::string categorized_message(char category, char flags) {
  const std::string empty_message(3, '\0'); // no stages, no values
  auto header =
      basp_header(direct_message, static_cast<std::uint32_t>(empty_message.size()), 0, 0, 1);
  header[3] = flags;
  header[8] = static_cast<char>(category << 4);
  return header + empty_message;
}

std::string self_link(const std::string& words, bool links) {
  const auto monitors = frame_of(words, monitor_message);
  const auto header_size = basp_header(0, 0).size();
  const auto nodes = monitors.substr(header_size);
  const auto actor = monitors.substr(header_size - 8, 8), node = nodes.substr(nodes.size() / 2);
  const auto atom = links ? caf::type_id_v<caf::link_atom> : caf::type_id_v<caf::unlink_atom>;
  const auto message = std::string{'\0', '\2'} + big_endian(atom) + // no stages, two values
                       big_endian(caf::type_id_v<caf::strong_actor_ptr>) + actor + node;
  auto header = basp_header(direct_message, static_cast<std::uint32_t>(message.size()));
  header.replace(header_size - 8, 8, actor);
  return header + message;
}

std::string introduction_of(const std::string& words) {
  return words.substr(0, first_frame(words));
}

std::string words_of_status(const Endpoint& daemon, const std::vector<std::string>& options) {
  const auto listener = net::listen_on({"127.0.0.1", 0}).value();
  auto words = std::async(std::launch::async, overheard, std::cref(listener), std::cref(daemon));
  std::vector<std::string> command = {TROUPE_PROGRAM, "status",
                                      to_string(Endpoint{"127.0.0.1", listener.port})};
  command.insert(command.end(), options.begin(), options.end());
  const auto ended = RunningProgram{command}.wait();
  if (ended.code != 0)
    throw std::runtime_error("no status: " + ended.err);
  return words.get();
}

HostileFrames::HostileFrames(std::string words, std::uint32_t seed)
    : words_{std::move(words)}, introduction_{introduction_of(words_)}, random_{seed} {}

std::string HostileFrames::nonsense(int most) {
  std::string bytes(static_cast<std::size_t>(number(most)), '\0');
  for (auto& byte : bytes)
    byte = static_cast<char>(number(255));
  return bytes;
}

std::string HostileFrames::cut_off(const std::string& whole) {
  return whole.substr(0, static_cast<std::size_t>(number(static_cast<int>(whole.size()))));
}

std::string HostileFrames::headed_nonsense() {
  return basp_header(static_cast<char>(number(basp_operations)),
                     static_cast<std::uint32_t>(number(400)), static_cast<char>(number(4)),
                     static_cast<char>(number(1)), static_cast<char>(number(1))) +
         nonsense(400);
}

std::string HostileFrames::for_cluster() {
  switch (number(5)) {
  case 0:
    return nonsense(300);
  case 1:
    return headed_nonsense();
  case 2:
    return cut_off(words_);
  case 3:
    return cut_off(introduction_) + nonsense(300);
  case 4:
    return introduction_ +
           categorized_message(static_cast<char>(number(3)), static_cast<char>(number(1)));
  default:
    return introduction_ + headed_nonsense();
  }
}

std::string HostileFrames::for_data() {
  constexpr int handshake_size = 48;
  switch (number(2)) {
  case 0:
    return nonsense(300);
  case 1:
    return nonsense(handshake_size);
  default:
    return cut_off(words_);
  }
}

} // namespace troupe::testing
