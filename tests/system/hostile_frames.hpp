/// Malicious bytes for the ports of a daemon; equal seeds give equal bytes.
#pragma once

#include "core/units.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace troupe::testing {

/// A header of CAF's protocol: operation, length of the payload, operation data, two actors.
std::string basp_header(char operation, std::uint32_t length, char data = 0, char source = 0,
                        char destination = 0);
constexpr char basp_operations = 7; ///< the following numbers are invalid operations

/// Returns a message to actor 1 whose header has this category; 2 and 3 are those of streams (CAF's
/// message_id). `flags` 1: actor 1 is CAF's config server.
std::string categorized_message(char category, char flags);

/// Returns all bytes that `troupe status`, with these options, sends to the daemon that listens
/// there.
std::string words_of_status(const Endpoint& daemon, const std::vector<std::string>& options);

/// Returns a message that asks the daemon's actor to link to itself, or to remove that link.
/// `words`: the result of words_of_status() for this daemon.
std::string self_link(const std::string& words, bool links);

/// Returns the handshake at the start of these words.
std::string introduction_of(const std::string& words);

class HostileFrames {
public:
  /// `words`: bytes of a trusted client, which are truncated at a random place. The bytes after its
  /// handshake are nonsense for actors that do nothing: with TLS, only a trusted client could send
  /// other messages.
  explicit HostileFrames(std::string words, std::uint32_t seed = 1);

  std::string for_cluster();
  std::string for_data();
  /// Returns a number from 0 to `most`.
  int number(int most) { return std::uniform_int_distribution<int>{0, most}(random_); }

private:
  std::string nonsense(int most);
  std::string headed_nonsense();
  std::string cut_off(const std::string& whole);

  std::string words_, introduction_;
  std::mt19937 random_;
};

} // namespace troupe::testing
