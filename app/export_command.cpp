// `troupe export`: writes a trained model as a file for other programs.
#include "app/add_command.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/graph/precision.hpp"
#include "inference/exports/exports.hpp"
#include "metrics/number_format.hpp"
#include "nn/onnx/model.hpp"

#include <fmt/format.h>

namespace troupe::app {

namespace {

struct ExportArguments {
  inference::SavedModelOptions model;
  std::string format, output, precision = "fp32";
  inference::OnnxExport onnx = {.opset = nn::onnx::oldest_opset, .version = TROUPE_VERSION};
};

Result<std::vector<inference::ExportedFile>> run(const ExportArguments& arguments,
                                                 const Catalogue& catalogue) {
  const auto dtype = choice_named<DType>(arguments.precision).value_or(DType::f32);
  auto onnx = arguments.onnx;
  const bool is_onnx = arguments.format == "onnx";
  if (is_onnx && dtype == DType::bf16)
    return fail(Errc::invalid_input, "--precision bf16: ONNX has no bf16 convolutions before opset "
                                     "22, and its runtimes have none on CPUs; allowed: fp32, fp16");
  if (!is_onnx && (onnx.fold_batch_norm || onnx.probabilities || onnx.normalization))
    return fail(Errc::invalid_input, "--fold-batch-norm, --softmax and --include-normalization "
                                     "need --format onnx: other formats contain only weights");
  TROUPE_TRY(const auto model, inference::open_saved_model(arguments.model, catalogue));
  if (arguments.format == "huggingface")
    return inference::export_hugging_face(model, {.output = arguments.output, .dtype = dtype});
  if (!is_onnx)
    return inference::export_safetensors(model, {.output = arguments.output, .dtype = dtype});
  onnx.output = arguments.output;
  onnx.dtype = dtype;
  return inference::export_onnx(model, onnx);
}

Status export_model(const ExportArguments& arguments, const Catalogue& catalogue) {
  TROUPE_TRY(const auto files, run(arguments, catalogue));
  for (const auto& [path, bytes] : files)
    say_line(fmt::format("{}: {}", escaped(path.string()),
                         metrics::format_bytes(static_cast<double>(bytes))));
  return {};
}

} // namespace

void add_export_command(CLI::App& app, Action& action) {
  auto [command, arguments] = add_command<ExportArguments>(
      app, action, "export", "Write a trained model as a file for other programs", export_model);
  add_model_arguments(command, arguments.model);
  add_choice(command, "--format", {"onnx", "safetensors", "huggingface"}, arguments.format,
             "onnx, safetensors or huggingface")
      ->required();
  add_value(command, "-o,--output", "FILE", arguments.output,
            "The file to write; for huggingface a new folder")
      ->required();
  add_choice(command, "--precision", {"fp32", "fp16", "bf16"}, arguments.precision,
             "fp32, fp16, or (not ONNX) bf16");
  add_number(command, "--opset", arguments.onnx.opset,
             CLI::Range(nn::onnx::oldest_opset, nn::onnx::newest_opset), "ONNX: opset version");
  command.add_flag("--fold-batch-norm", arguments.onnx.fold_batch_norm,
                   "ONNX: fold batch norms into the convolutions before them");
  command.add_flag("--softmax", arguments.onnx.probabilities,
                   "ONNX: also add the output \"probabilities\"");
  command.add_flag(
      "--include-normalization", arguments.onnx.normalization,
      "ONNX: include the normalization, so that inputs are pixels / 255 or raw features");
}

} // namespace troupe::app
