#include "core/escape.hpp"
#include "core/fail.hpp"
#include "inference/exports/exports.hpp"
#include "inference/exports/weights_file.hpp"
#include "nn/models/models.hpp"
#include "nn/onnx/model.hpp"
#include "nn/passes/fold_batch_norm.hpp"
#include "nn/passes/fuse.hpp"

namespace troupe::inference {

namespace {

using Parts = std::vector<nn::onnx::FilePart>;

Result<nn::onnx::ExportOptions> options_of(const SavedModel& model, const OnnxExport& options) {
  nn::onnx::ExportOptions made{.opset = options.opset,
                               .dtype = options.dtype,
                               .probabilities = options.probabilities,
                               .name = model.config.model.name,
                               .producer_version = options.version,
                               .values_file = options.output.filename().string() + ".data"};
  for (const auto& [key, value] : training::to_metadata(model.config, model.card))
    made.metadata.emplace_back(key, value);
  if (!options.normalization)
    return made;
  if (!model.card.input || model.card.input->mean.empty())
    return fail(
        Errc::invalid_input,
        "{} does not record the normalization of its inputs, so the export cannot include it",
        escaped(model.file.string()));
  made.normalization.emplace(model.card.input->mean, model.card.input->deviation);
  return made;
}

Result<ExportedFile> write_parts(ValuesFile file, const Parts& parts, const ModelWeights& weights,
                                 DType dtype) {
  for (const auto& [text, tensor] : parts) {
    TROUPE_TRY(file.write(text));
    if (tensor.empty())
      continue;
    TROUPE_TRY(const auto values, weights.read(tensor));
    TROUPE_TRY(file.write(tensor, values, dtype));
  }
  return file.commit();
}

} // namespace

Result<std::vector<ExportedFile>> export_onnx(const SavedModel& model, const OnnxExport& options) {
  const auto input = nn::input_spec(model.config);
  if (input.vocabulary > 0)
    return fail(Errc::invalid_input,
                "{} is a language model, but only models of images and tables can be exported to "
                "ONNX; use --format huggingface or safetensors",
                model.config.model.name);
  TROUPE_TRY(auto graph, nn::build_model(model.config.model, {.input = input, .training = false}));
  TROUPE_TRY(auto weights, weights_of(model));
  TROUPE_TRY(const auto described, options_of(model, options));
  graph = nn::fuse(graph, {.matmul_bias = true});
  if (options.fold_batch_norm) {
    auto folded = nn::fold_batch_norm(graph);
    graph = std::move(folded.graph);
    weights.fold(folded.foldings);
  }
  TROUPE_TRY(const auto files, nn::onnx::make_model(graph, described));
  std::vector<ExportedFile> written;
  const auto write = [&](const std::filesystem::path& path, const Parts& parts) -> Status {
    const auto bytes = nn::onnx::bytes_of(parts, graph, options.dtype);
    TROUPE_TRY(auto file, ValuesFile::create(path, model, bytes));
    TROUPE_TRY(written.emplace_back(), write_parts(std::move(file), parts, weights, options.dtype));
    return {};
  };
  if (!files.values.empty()) // first, so that a reader that finds the model also finds its values
    TROUPE_TRY(write(options.output.parent_path() / described.values_file, files.values));
  TROUPE_TRY(write(options.output, files.model));
  return written;
}

} // namespace troupe::inference
