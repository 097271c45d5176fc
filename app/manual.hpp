/// Manual pages, in the macros of man(7).
#pragma once

#include "core/config/catalogue.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace troupe::app {

struct ManualPage {
  std::string name;   ///< "troupe-train", "troupe.yaml"
  char section = '1'; ///< 1: a command; 5: a file
  std::string text;

  std::string file() const { return name + "." + section; }
};

/// One page for the program, one for each command (with its subcommands), one for the config file.
std::vector<ManualPage> manual_pages(const CLI::App& program, const Catalogue& catalogue);

} // namespace troupe::app
