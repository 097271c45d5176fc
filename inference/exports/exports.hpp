/// Exports a saved model for other programs.
#pragma once

#include "inference/saved_model.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace troupe::inference {

struct WeightsExport {
  /// A file; for Hugging Face a folder that does not exist yet, or is empty.
  std::filesystem::path output;
  DType dtype = DType::f32; ///< of all tensors: f32, f16 or bf16
};

struct OnnxExport {
  std::filesystem::path output; ///< values that make it too large for one file go to OUTPUT.data
  DType dtype = DType::f32;     ///< f32 or f16
  int opset = 17;
  bool fold_batch_norm = false; ///< folds batch norms into the convolutions before them
  bool probabilities = false;   ///< also outputs the softmax of the logits
  bool normalization = false;   ///< normalizes inputs in the model's first nodes
  std::string version = {};     ///< troupe's
};

/// A file that was written.
struct ExportedFile {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
};

/// Exports parameters and statistics under torchvision's names, with the model's card in the
/// metadata and without optimizer state. Keeps one tensor's values in memory at a time. Errors:
/// invalid_input (weights of another model; a value outside the type's range; the output is the
/// model's own file); no_space; io.
Result<std::vector<ExportedFile>> export_safetensors(const SavedModel& model,
                                                     const WeightsExport& options);

/// Exports the format that nn/onnx/model.hpp describes. Errors: those of export_safetensors, and
/// unsupported for an op without an ONNX form.
Result<std::vector<ExportedFile>> export_onnx(const SavedModel& model, const OnnxExport& options);

/// Exports a folder that transformers reads: config.json, generation_config.json,
/// model.safetensors, and the tokenizer's files if transformers knows its format. Atomic: the
/// folder is complete or does not exist. Errors: those of export_safetensors, and invalid_input for
/// a model without such a form, or a folder that exists; data for a tokenizer that cannot be
/// opened.
Result<std::vector<ExportedFile>> export_hugging_face(const SavedModel& model,
                                                      const WeightsExport& options);

} // namespace troupe::inference
