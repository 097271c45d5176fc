/// A saved model as a file for other programs.
#pragma once

#include "inference/saved_model.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace troupe::inference {

struct SafetensorsExport {
  std::filesystem::path output;
  DType dtype = DType::f32; ///< of all tensors: f32, f16 or bf16
};

struct OnnxExport {
  std::filesystem::path output; ///< values that make it too large for one file go to OUTPUT.data
  DType dtype = DType::f32;     ///< f32 or f16
  int opset = 17;
  bool fold_batch_norm = false; ///< into the convolutions before
  bool probabilities = false;   ///< softmax of the logits, too
  bool normalization = false;   ///< as the model's first nodes
  std::string version = {};     ///< troupe's
};

struct HuggingFaceExport {
  std::filesystem::path output; ///< a folder that is not there yet, or empty
  DType dtype = DType::f32;     ///< of all tensors: f32, f16 or bf16
};

/// What was written.
struct ExportedFile {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
};

/// Parameters and statistics under torchvision's names, with the model's card in the metadata; an
/// optimizer's state is left out. Values are in memory a tensor at a time. Errors: invalid_input
/// (weights of another model; a value that the type has no room for; the output is the model's own
/// file); no_space; io.
Result<std::vector<ExportedFile>> export_safetensors(const SavedModel& model,
                                                     const SafetensorsExport& options);

/// As nn/onnx/model.hpp says. Errors: likewise, and unsupported for an op that has no ONNX form.
Result<std::vector<ExportedFile>> export_onnx(const SavedModel& model, const OnnxExport& options);

/// A folder as transformers reads it: config.json, generation_config.json, model.safetensors, and
/// the tokenizer's files where it has some that transformers knows (tokenizer_files.hpp). It is
/// whole or not there. Errors: likewise, and invalid_input for a model that has no such form, or a
/// folder that is there; data for a tokenizer that cannot be opened.
Result<std::vector<ExportedFile>> export_hugging_face(const SavedModel& model,
                                                      const HuggingFaceExport& options);

} // namespace troupe::inference
