#include "core/escape.hpp"
#include "core/fail.hpp"
#include "inference/exports/exports.hpp"
#include "inference/exports/values_file.hpp"
#include "inference/model_weights.hpp"
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

class OnnxFiles {
public:
  OnnxFiles(const SavedModel& model, const Graph& graph, const ModelWeights& weights, DType dtype)
      : model_{model}, graph_{graph}, weights_{weights}, dtype_{dtype} {}

  Status write(const std::filesystem::path& path, const Parts& parts) {
    TROUPE_TRY(auto file,
               ValuesFile::create(path, model_, nn::onnx::bytes_of(parts, graph_, dtype_)));
    for (const auto& [text, tensor] : parts) {
      TROUPE_TRY(file.write(text));
      if (tensor.empty())
        continue;
      TROUPE_TRY(const auto values, weights_.read(tensor));
      TROUPE_TRY(file.write(tensor, values, dtype_));
    }
    TROUPE_TRY(auto committed, file.commit());
    written_.push_back(std::move(committed));
    return {};
  }

  std::vector<ExportedFile> take() && { return std::move(written_); }

private:
  const SavedModel& model_;
  const Graph& graph_;
  const ModelWeights& weights_;
  DType dtype_;
  std::vector<ExportedFile> written_;
};

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
  OnnxFiles writer{model, graph, weights, options.dtype};
  if (!files.values.empty()) // first, so that a reader that finds the model also finds its values
    TROUPE_TRY(writer.write(options.output.parent_path() / described.values_file, files.values));
  TROUPE_TRY(writer.write(options.output, files.model));
  return std::move(writer).take();
}

} // namespace troupe::inference
