/// TensorBoard's messages, each encoded as a record of a file.
///
/// Source: event.proto and summary.proto of TensorBoard, and the description of TFRecord in
/// TensorFlow's documentation.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

namespace troupe::metrics {

struct Scalar {
  std::string tag; ///< "train/loss"
  double value = 0;
};

using WallTime = std::chrono::system_clock::time_point;

/// The first record of a file.
std::string file_version_record(WallTime time);
/// Marks this step and later ones in earlier files as repeated.
std::string restart_record(WallTime time, std::int64_t step);
std::string scalars_record(WallTime time, std::int64_t step, std::span<const Scalar> scalars);

} // namespace troupe::metrics
