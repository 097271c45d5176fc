/// What no daemon expects, for the ports of one: the same bytes for the same seed.
#pragma once

#include "core/units.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace troupe::testing {

/// A header of CAF's protocol: operation, length of what follows, operation's data, two actors.
std::string basp_header(char operation, std::uint32_t length, char data = 0, char source = 0,
                        char destination = 0);
constexpr char basp_operations = 7; ///< and some more numbers, which are none

/// A message to actor 1 that its header puts into a category, of which 2 and 3 are those of
/// streams (CAF's message_id). `flags` 1: actor 1 is CAF's config server.
std::string categorized_message(char category, char flags);

/// All that `troupe status`, with these options, says to the daemon that listens there.
std::string words_of_status(const Endpoint& daemon, const std::vector<std::string>& options);

/// A message to the daemon's actor that asks to link it with itself, or to remove that link.
/// `words`: those of words_of_status() for this daemon.
std::string self_link(const std::string& words, bool links);

/// The handshake, with which these words begin.
std::string introduction_of(const std::string& words);

class HostileFrames {
public:
  /// `words`: of somebody who is welcome, to be cut off anywhere. What follows his introduction is
  /// nonsense for actors that do nothing: with TLS, and only then, he alone could say more.
  explicit HostileFrames(std::string words, std::uint32_t seed = 1);

  std::string for_cluster();
  std::string for_data();
  /// From 0.
  int number(int most) { return std::uniform_int_distribution<int>{0, most}(random_); }

private:
  std::string nonsense(int most);
  std::string headed_nonsense();
  std::string cut_off(const std::string& whole);

  std::string words_, introduction_;
  std::mt19937 random_;
};

} // namespace troupe::testing
