/// Where the time of a step goes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace troupe::cpu {

/// All runs of the nodes that have one label.
struct ProfileLine {
  std::string label;
  std::size_t runs = 0;
  double seconds = 0;    ///< of the stream's thread, not counting others on its processor
  double operations = 0; ///< floating point, of matrix work
  double bytes = 0;      ///< read and written, of element-wise work
};

/// The interface of executables that can be profiled, beside Executable.
class Profiled {
public:
  virtual ~Profiled() = default;
  /// Called before anything is enqueued.
  virtual void start_profile() = 0;
  /// Called when everything is done; gives the longest first. `in_detail`: nodes of different
  /// shapes apart.
  virtual std::vector<ProfileLine> profile(bool in_detail) const = 0;
};

} // namespace troupe::cpu
