/// A graph for evaluation as an ONNX model: which bytes its file has, and where among them the
/// values of parameters stand, so that a file of any size can be written without being in memory.
///
/// Input: "input", f32, (batch, C, H, W) of images, (batch, F) of a table's rows, in f64 where the
/// model normalizes them; "batch" is any size. Output: "logits", f32, (batch, outputs), and
/// "probabilities" where they are asked for.
#pragma once

#include "core/error.hpp"
#include "core/graph/graph.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::nn::onnx {

inline constexpr int oldest_opset = 17, newest_opset = 22;
/// A protocol buffer is smaller than 2 GiB: what would be larger has its values in a file beside.
inline constexpr std::uint64_t most_bytes = (std::uint64_t{1} << 31) - 1;

struct ExportOptions {
  int opset = oldest_opset;
  DType dtype = DType::f32;   ///< of parameters and all that is computed: f32 or f16
  bool probabilities = false; ///< softmax of the logits, as an output more
  /// Becomes the model's first nodes: (input - mean) / deviation, a value each for every channel or
  /// feature.
  std::optional<std::pair<std::vector<double>, std::vector<double>>> normalization = {};
  std::string name = "model";
  std::string producer_version = {};
  std::vector<std::pair<std::string, std::string>> metadata = {}; ///< metadata_props
  std::string values_file = {}; ///< what the file beside is called; "/" does not occur
  std::uint64_t most_bytes = onnx::most_bytes; ///< of the one file
};

/// Bytes of a file, and then the values of a tensor, row-major in `dtype`, little-endian.
struct FilePart {
  std::string bytes;
  std::string tensor = {}; ///< a parameter or statistic; empty: none
};

struct ModelFiles {
  DType dtype = DType::f32;     ///< of the values
  std::vector<FilePart> model;  ///< in the order of the file
  std::vector<FilePart> values; ///< of the file beside; empty: there is none
};

/// `evaluation`: a forward graph as build_model makes it with training = false, whose passes have
/// joined no more than what ONNX has one node for (a matmul's bias, a convolution's). What does not
/// lead to "logits" is left out. Errors: unsupported for an op that has no form (named), or an
/// opset that is not between the oldest and the newest.
Result<ModelFiles> make_model(const Graph& evaluation, const ExportOptions& options);

} // namespace troupe::nn::onnx
