/// Converts an evaluation graph to an ONNX model. The result lists the bytes of the file and the
/// positions of parameter values among them, so that a file of any size can be written without
/// holding it in memory.
///
/// Input: "input", f32, (batch, C, H, W) for images, (batch, F) for a table's rows, in f64 if the
/// model normalizes them; "batch" is any size. Output: "logits", f32, (batch, outputs), and
/// "probabilities" if requested.
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
/// A protocol buffer is smaller than 2 GiB. A larger model stores its values in a second file.
inline constexpr std::uint64_t most_bytes = (std::uint64_t{1} << 31) - 1;

struct ExportOptions {
  int opset = oldest_opset;
  DType dtype = DType::f32;   ///< of parameters and all computation: f32 or f16
  bool probabilities = false; ///< adds an output: softmax of the logits
  /// Becomes the model's first nodes, (input - mean) / deviation, with one value per channel or
  /// feature.
  std::optional<std::pair<std::vector<double>, std::vector<double>>> normalization = {};
  std::string name = "model";
  std::string producer_version = {};
  std::vector<std::pair<std::string, std::string>> metadata = {}; ///< metadata_props
  std::string values_file = {};                ///< name of the second file, without "/"
  std::uint64_t most_bytes = onnx::most_bytes; ///< limit of a single file
};

/// Bytes of a file, followed by the values of a tensor, row-major in `dtype`, little-endian.
struct FilePart {
  std::string bytes;
  std::string tensor = {}; ///< a parameter or statistic; empty if none
};

/// Returns the size of a file with the values of the graph's tensors in `dtype`.
std::uint64_t bytes_of(const std::vector<FilePart>& parts, const Graph& graph, DType dtype);

struct ModelFiles {
  DType dtype = DType::f32;     ///< of the values
  std::vector<FilePart> model;  ///< in file order
  std::vector<FilePart> values; ///< of the second file; empty: there is none
};

/// Returns the files of a model. `evaluation` is a forward graph that build_model returns for
/// training = false. Its passes may have fused only what ONNX has one node for: the bias of a
/// matmul or convolution. Nodes that do not contribute to "logits" are left out. Errors:
/// unsupported for an op without an ONNX form (by name), or for an opset older than oldest_opset or
/// newer than newest_opset.
Result<ModelFiles> make_model(const Graph& evaluation, const ExportOptions& options);

} // namespace troupe::nn::onnx
