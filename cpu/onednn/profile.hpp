/// Time of a step by kind of node.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace troupe::cpu {

/// All runs of the nodes with one label.
struct ProfileLine {
  std::string label;
  std::size_t runs = 0;
  double seconds = 0; ///< CPU time of the stream's thread, without other threads on its processor
  double operations = 0; ///< floating point, of matrix work
  double bytes = 0;      ///< read and written, of element-wise work
};

/// The interface of executables that can be profiled, in addition to Executable.
class Profiled {
public:
  virtual ~Profiled() = default;
  /// Called before anything is enqueued.
  virtual void start_profile() = 0;
  /// Called after all work is done; returns the longest first. `in_detail`: separate lines for
  /// nodes of different shapes.
  virtual std::vector<ProfileLine> profile(bool in_detail) const = 0;
};

} // namespace troupe::cpu
