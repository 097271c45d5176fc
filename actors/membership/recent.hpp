/// Recent events, so that none is reported or repeated at once.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <string>

namespace troupe::actors {

/// Texts by name, each forgotten after a minute. Stores a bounded number, because names come from
/// strangers.
class Recent {
public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::minutes time_kept{1};
  static constexpr std::size_t most = 1024;

  /// Returns an empty string if nothing is noted.
  std::string of(const std::string& name, Time now) const {
    const auto found = noted_.find(name);
    return found != noted_.end() && now - found->second.when < time_kept ? found->second.text : "";
  }
  void note(const std::string& name, std::string text, Time now) {
    std::erase_if(noted_, [now](const auto& old) { return now - old.second.when >= time_kept; });
    if (noted_.size() == most)
      noted_.erase(
          std::ranges::min_element(noted_, {}, [](const auto& old) { return old.second.when; }));
    noted_[name] = {std::move(text), now};
  }
  void forget(const std::string& name) { noted_.erase(name); }

private:
  struct Noted {
    std::string text;
    Time when;
  };

  std::map<std::string, Noted> noted_;
};

} // namespace troupe::actors
