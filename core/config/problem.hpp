/// A problem with a config and its location.
#pragma once

#include "core/error.hpp"

#include <string>
#include <vector>

namespace troupe {

struct ConfigProblem {
  std::string source = {};     ///< the file, or "--set a.b=c"
  int line = 0;                ///< from 1; 0: the source as a whole
  int column = 0;              ///< from 1
  std::string key = {};        ///< "train.optimizer.lr"; empty: not about one key
  std::string what = {};       ///< "0 is out of range"
  std::string allowed = {};    ///< "a whole number, at least 1"; may be empty
  std::string suggestion = {}; ///< the valid name that was probably meant; may be empty

  /// Returns `file:line:column: key: what; allowed: ...; did you mean "nearest"?`
  std::string to_string() const;
};

/// Combines the problems into one Errc::invalid_input, one line per problem.
Error to_error(const std::vector<ConfigProblem>& problems);

} // namespace troupe
