/// Checks of several keys together, section by section.
#pragma once

#include "core/config/config.hpp"
#include "core/config/validate.hpp"

#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// A config, the machine that it is for, and the conflicts found so far.
struct ConfigCheck {
  const Config& config;
  const Capabilities& capabilities;
  ConfigConflicts found = {};

  /// `keys`: all keys involved, the one to report first.
  void refuse(std::vector<std::string> keys, std::string what, std::string allowed) {
    found.push_back({std::move(keys), std::move(what), std::move(allowed)});
  }
};

/// Each adds the conflicts within a section, and with other sections.
void check_data(ConfigCheck& check);
void check_train(ConfigCheck& check);
void check_parallel(ConfigCheck& check);
void check_cluster(ConfigCheck& check);

} // namespace troupe
