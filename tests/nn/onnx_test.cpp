// Checks exported files as the essential parts of ONNX's checker do: every input exists before it
// is read, names are unique, and tensors have as many bytes as their shapes need.
#include "nn/builder.hpp"
#include "nn/models/models.hpp"
#include "nn/onnx/model.hpp"
#include "nn/passes/fold_batch_norm.hpp"
#include "nn/passes/fuse.hpp"
#include "tests/nn/graph_runner.hpp"
#include "tests/nn/onnx_reader.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <set>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

Graph exportable(const std::string& name, const InputSpec& input = image_input(16)) {
  ModelConfig config;
  config.name = name;
  config.hidden = {6, 5};
  const auto graph = build_model(config, {.input = input, .batch = 4, .training = false});
  REQUIRE(graph.has_value());
  return fuse(*graph, {.matmul_bias = true});
}

/// Returns the bytes of a file; all tensor values are zeros.
std::string written(const Graph& graph, const std::vector<onnx::FilePart>& parts, DType dtype) {
  std::string file;
  for (const auto& [bytes, tensor] : parts) {
    file += bytes;
    if (!tensor.empty())
      file.append(static_cast<std::size_t>(graph[*graph.find(tensor)].shape.elements()) *
                      size_of(dtype),
                  '\0');
  }
  return file;
}

ProtoMessage exported(const Graph& graph, const onnx::ExportOptions& options = {}) {
  const auto made = onnx::make_model(graph, options);
  INFO((made ? "" : made.error().to_string()));
  REQUIRE(made.has_value());
  return ProtoMessage::read(written(graph, made->model, made->dtype));
}

std::uint64_t elements_of(const ProtoMessage& tensor) {
  std::uint64_t elements = 1;
  if (tensor.numbers.contains(1))
    for (const auto size : tensor.numbers.at(1))
      elements *= size;
  return elements;
}

std::size_t size_of_data_type(std::uint64_t type) {
  return type == 7 || type == 11 ? 8 : type == 10 ? 2 : 4; // INT64, DOUBLE, FLOAT16, FLOAT
}

void check_onnx_graph(const ProtoMessage& graph) {
  std::set<std::string> known;
  for (const auto& tensor : graph.messages(5)) {
    INFO(tensor.text(8));
    CHECK(known.insert(tensor.text(8)).second);
    if (!tensor.numbers.contains(14))
      CHECK(tensor.text(9).size() == elements_of(tensor) * size_of_data_type(tensor.number(2)));
  }
  for (const auto& input : graph.messages(11))
    CHECK(known.insert(input.text(1)).second);
  for (const auto& node : nodes_of(graph)) {
    for (const auto& input : node.inputs) {
      INFO(node.op << " reads " << input);
      CHECK(known.contains(input));
    }
    for (const auto& output : node.outputs)
      CHECK(known.insert(output).second);
  }
  for (const auto& output : graph.messages(12))
    CHECK(known.contains(output.text(1)));
}

std::vector<std::string> ops_of(const ProtoMessage& graph) {
  std::vector<std::string> ops;
  for (const auto& node : nodes_of(graph))
    ops.push_back(node.op);
  return ops;
}

/// Returns the dimensions of an input or output; "batch" for a named dimension.
std::vector<std::string> dims_of(const ProtoMessage& info) {
  std::vector<std::string> dims;
  for (const auto& dim : info.messages(2).at(0).messages(1).at(0).messages(2).at(0).messages(1))
    dims.push_back(dim.texts.contains(2) ? dim.text(2) : std::to_string(dim.number(1)));
  return dims;
}

using Strings = std::vector<std::string>;

} // namespace

TEST_CASE("every exported model is valid for ONNX's checker") {
  const auto name =
      GENERATE(as<std::string>{}, "resnet18", "resnet20", "resnet50", "mlp", "linear");
  const auto graph = exportable(name);
  const auto file = exported(graph, {.metadata = {{"a", "b"}}});
  CHECK(file.number(1) == 8); // ir_version
  CHECK(file.text(2) == "troupe");
  CHECK(file.messages(8).at(0).number(2) == 17); // opset_import
  CHECK(file.messages(14).at(0).text(1) == "a");
  const auto onnx = file.messages(7).at(0);
  check_onnx_graph(onnx);
  CHECK(dims_of(onnx.messages(11).at(0)) == Strings{"batch", "3", "16", "16"});
  CHECK(onnx.messages(12).at(0).text(1) == "logits");
  CHECK(dims_of(onnx.messages(12).at(0)) == Strings{"batch", "10"});
  CHECK(std::ranges::count(ops_of(onnx), "BatchNormalization") == count(graph, Op::batch_norm));
  CHECK(std::ranges::count(ops_of(onnx), "SoftmaxCrossEntropyLoss") == 0);
}

TEST_CASE("batch norms are exported in their inference form or folded into convolutions") {
  const auto graph = exportable("resnet20");
  const auto plain = exported(graph).messages(7).at(0);
  for (const auto& node : nodes_of(plain))
    if (node.op == "BatchNormalization") {
      CHECK(node.inputs.size() == 5);
      CHECK(node.outputs.size() == 1);
      CHECK(node.attributes.at("epsilon").number(2) == 0x3727c5ac); // 1e-5
      CHECK_FALSE(node.attributes.contains("training_mode"));
    }
  const auto folded = fold_batch_norm(graph);
  const auto onnx = exported(folded.graph).messages(7).at(0);
  check_onnx_graph(onnx);
  CHECK(std::ranges::count(ops_of(onnx), "BatchNormalization") == 0);
  for (const auto& node : nodes_of(onnx))
    if (node.op == "Conv")
      CHECK(node.inputs.size() == 3);
  // One weight and one bias per convolution.
  CHECK(onnx.messages(5).size() + 3 * folded.foldings.size() == plain.messages(5).size());
}

TEST_CASE("samples are flattened in the order of training") {
  CHECK(ops_of(exported(exportable("linear")).messages(7).at(0)) ==
        Strings{"Transpose", "Flatten", "Gemm"});
  CHECK(ops_of(exported(exportable("linear", image_input(16, 1))).messages(7).at(0)) ==
        Strings{"Flatten", "Gemm"});
  const InputSpec row{.name = "features", .sample = {7}};
  const auto table = exported(exportable("linear", row)).messages(7).at(0);
  CHECK(ops_of(table) == Strings{"Flatten", "Gemm"});
  CHECK(dims_of(table.messages(11).at(0)) == Strings{"batch", "7"});
}

TEST_CASE("normalization and probabilities are added on request") {
  const auto graph = exportable("mlp");
  onnx::ExportOptions options{.probabilities = true};
  options.normalization = {{0.5, 0.25, 0.125}, {1, 2, 4}};
  const auto onnx = exported(graph, options).messages(7).at(0);
  check_onnx_graph(onnx);
  const auto ops = ops_of(onnx);
  CHECK(Strings(ops.begin(), ops.begin() + 2) == Strings{"Sub", "Div"});
  CHECK(ops.back() == "Softmax");
  CHECK(onnx.messages(12).at(1).text(1) == "probabilities");
  const auto mean = onnx.messages(5).at(0);
  CHECK(mean.numbers.at(1) == std::vector<std::uint64_t>{1, 3, 1, 1});
  CHECK(mean.text(9) == std::string{"\0\0\0\x3f\0\0\x80\x3e\0\0\0\x3e", 12});
}

TEST_CASE("features of a table are doubles until the exported model has standardized them") {
  const auto graph = exportable("linear", {.name = "features", .sample = {2}});
  const onnx::ExportOptions options{.normalization = {{{1.7e9, 0.5}, {86400, 4}}}};
  const auto onnx = exported(graph, options).messages(7).at(0);
  check_onnx_graph(onnx);
  CHECK(ops_of(onnx) == Strings{"Sub", "Div", "Cast", "Flatten", "Gemm"});
  CHECK(onnx.messages(11).at(0).messages(2).at(0).messages(1).at(0).number(1) == 11); // DOUBLE
  const auto mean = onnx.messages(5).at(0);
  CHECK(mean.number(2) == 11);
  CHECK(mean.text(9).substr(8) == std::string{"\0\0\0\0\0\0\xe0\x3f", 8});
}

TEST_CASE("an fp16 export computes in fp16 between f32 inputs and outputs") {
  const auto graph = exportable("resnet20");
  const auto onnx = exported(graph, {.dtype = DType::f16}).messages(7).at(0);
  check_onnx_graph(onnx);
  const auto ops = ops_of(onnx);
  CHECK(ops.front() == "Cast");
  CHECK(ops.back() == "Cast");
  for (const auto& tensor : onnx.messages(5))
    CHECK((tensor.number(2) == 10 || tensor.number(2) == 7));
  CHECK(onnx.messages(12).at(0).messages(2).at(0).messages(1).at(0).number(1) == 1);
}

TEST_CASE("a model that is too large for one file has its values in a second file") {
  const auto graph = exportable("mlp");
  const auto made = onnx::make_model(graph, {.values_file = "m.onnx.data", .most_bytes = 10'000});
  REQUIRE(made.has_value());
  const auto file = written(graph, made->model, made->dtype);
  CHECK(file.size() < 10'000);
  const auto onnx = ProtoMessage::read(file).messages(7).at(0);
  check_onnx_graph(onnx);
  std::size_t parts = 0, at = 0;
  for (const auto& tensor : onnx.messages(5)) {
    INFO(tensor.text(8));
    CHECK(tensor.number(14) == 1); // EXTERNAL
    const auto& part = made->values.at(parts++);
    CHECK(part.tensor == tensor.text(8));
    at += part.bytes.size();
    const auto entries = tensor.messages(13);
    CHECK(entries.at(0).text(2) == "m.onnx.data");
    CHECK(entries.at(1).text(2) == std::to_string(at));
    CHECK(at % 4096 == 0);
    CHECK(entries.at(2).text(2) == std::to_string(4 * elements_of(tensor)));
    at += 4 * elements_of(tensor);
  }
  CHECK(parts == made->values.size());
}

TEST_CASE("an op without an ONNX form and an unsupported opset are named") {
  GraphBuilder b;
  b.begin_unit("all");
  const auto x = b.input("features", {2, 4});
  const auto labels = b.target("labels", {2}, DType::i32);
  const auto logits = b.linear("fc", b.gelu("act", x), 3, {.output = "logits"});
  b.softmax_cross_entropy("loss", logits, labels, 0.0f);
  const auto graph = std::move(b).finish();
  REQUIRE(graph.has_value());
  const auto refused = onnx::make_model(*graph, {});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == Errc::unsupported);
  CHECK_THAT(refused.error().message, ContainsSubstring("the op gelu (of act)"));
  CHECK_FALSE(onnx::make_model(exportable("linear"), {.opset = 16}).has_value());
}
