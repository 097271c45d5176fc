/// The rows of a profile: times of equal work, and the limit that binds it.
#pragma once

#include "core/device/pass_times.hpp"
#include "training/platforms/platform.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace troupe::training {

/// All steps of one op in a training step, or those of one shape. Sums of one training step.
struct ProfileRow {
  std::string name;
  std::string shapes = {}; ///< of the first input and the first output; empty: all
  double calls = 0;
  double seconds = 0;
  double operations = 0; ///< of products; convolutions count as direct
  double bytes = 0;      ///< read and written, each tensor once
  /// The least time that the device needs: for each call the longer of computing and moving
  /// (Williams, Waterman & Patterson 2009). 0: unknown.
  double least_seconds = 0;
};

/// Returns the least time of work on a device; 0 if a rate that it depends on is unknown.
double least_seconds(const DeviceLimits& limits, double operations, double bytes);

/// Adds up the times of some training steps.
class ProfileRows {
public:
  ProfileRows(const DeviceLimits& limits, bool by_shape) : limits_{limits}, by_shape_{by_shape} {}

  void add(const PassTimes& times);
  /// Adds work that is no node of the graph; `bytes`: 0 if they are not known.
  void add(const std::string& name, double seconds, double bytes = 0);

  /// Returns the mean rows of `steps` steps of `seconds` each, the longest first. The last row is
  /// the rest of the steps' time.
  std::vector<ProfileRow> rows(int steps, double seconds) const;

private:
  void add(const ProfileRow& step);

  DeviceLimits limits_;
  bool by_shape_;
  std::map<std::pair<std::string, std::string>, ProfileRow> rows_; ///< by name and shapes
};

} // namespace troupe::training
