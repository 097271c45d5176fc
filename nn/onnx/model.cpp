#include "nn/onnx/model.hpp"

#include "core/fail.hpp"
#include "nn/onnx/draft.hpp"

#include <algorithm>

namespace troupe::nn::onnx {

namespace {

constexpr const char* input_name = "input";
constexpr const char* logits_name = "logits";
constexpr const char* probabilities_name = "probabilities";

/// Values in the second file are aligned to pages, so that the file can be mapped.
constexpr std::uint64_t page = 4096;

/// Returns the format version that introduced an opset (onnx/helper.py, VERSION_TABLE).
std::int64_t ir_version(int opset) {
  return opset >= 21 ? 10 : opset >= 19 ? 9 : 8;
}

/// Returns the nodes that the logits depend on, in order.
std::vector<const Node*> nodes_of(const Graph& graph, TensorId logits) {
  std::vector<bool> wanted(graph.tensors.size());
  wanted[static_cast<std::size_t>(logits)] = true;
  std::vector<const Node*> nodes;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (!wanted[static_cast<std::size_t>(node->outputs[0])])
      continue;
    for (const auto id : node->inputs)
      wanted[static_cast<std::size_t>(id)] = true;
    nodes.push_back(&*node);
  }
  std::ranges::reverse(nodes);
  return nodes;
}

/// Returns the dimensions of a sample: unchanged for rows of a table, (C, H, W) for images.
std::vector<std::int64_t> sample_dims(const Shape& shape) {
  if (shape.rank() == 4)
    return {shape[3], shape[1], shape[2]};
  return {shape.dims.begin() + 1, shape.dims.end()};
}

/// ValueInfoProto: name 1, type 2; TypeProto: tensor_type 1; its elem_type 1, shape 2;
/// TensorShapeProto: dim 1; its dim_value 1, dim_param 2.
Message value_info(const std::string& name, const std::vector<std::int64_t>& dims,
                   DataType type = real_data) {
  Message shape;
  shape.message(1, Message{}.text(2, "batch"));
  for (const auto size : dims)
    shape.message(1, Message{}.integer(1, size));
  Message tensor;
  tensor.integer(1, type).message(2, shape);
  return std::move(Message{}.text(1, name).message(2, Message{}.message(1, tensor)));
}

/// TensorProto: dims 1, data_type 2, name 8; raw_data 9; external_data 13, data_location 14.
Message describe(const Initializer& tensor) {
  Message made;
  for (const auto size : tensor.shape.dims)
    made.integer(1, size);
  made.integer(2, tensor.type);
  return std::move(made.text(8, tensor.name));
}

class ModelMaker {
public:
  ModelMaker(const Graph& graph, const ExportOptions& options)
      : graph_{graph}, options_{options}, draft_{graph, options.dtype == DType::f16 ? half_data
                                                                                    : real_data} {}

  Result<ModelFiles> run() {
    if (options_.opset < oldest_opset || options_.opset > newest_opset)
      return fail(Errc::invalid_input, "cannot export to opset {}; supported: {} to {}",
                  options_.opset, oldest_opset, newest_opset);
    const auto logits = graph_.find(logits_name);
    if (!logits)
      return fail(Errc::internal, "the model has no {}", logits_name);
    TROUPE_TRY(add_nodes(*logits));
    ModelFiles files{.dtype = options_.dtype};
    place_initializers(files, false);
    const auto others = draft_.nodes().bytes().size() + page; // page: estimate for names
    if (bytes_of(files.model, graph_, options_.dtype) + others >= options_.most_bytes) {
      files = {.dtype = options_.dtype};
      place_initializers(files, true);
    }
    put_before(files);
    return files;
  }

private:
  /// A table's raw features need f64: f32 would round large ones (a time in seconds) before the
  /// mean is subtracted.
  bool takes_doubles() const { return options_.normalization && input_dims_.size() == 1; }

  Status add_nodes(TensorId logits) {
    const auto input = graph_.with_role(Role::input).front();
    input_dims_ = sample_dims(graph_[input].shape);
    output_dims_ = sample_dims(graph_[logits].shape);
    std::string at = input_name;
    if (options_.normalization)
      at = normalized(at);
    const bool narrow = options_.dtype == DType::f16;
    if (narrow) {
      draft_.add_node("Cast", {at}, "input.fp16", {integer_attribute("to", half_data)});
      at = "input.fp16";
      draft_.rename(logits, "logits.fp16");
    }
    draft_.rename(input, at);
    for (const auto* node : nodes_of(graph_, logits))
      TROUPE_TRY(add_node(draft_, *node));
    if (narrow)
      draft_.add_node("Cast", {"logits.fp16"}, logits_name, {integer_attribute("to", real_data)});
    if (options_.probabilities)
      draft_.add_node("Softmax", {logits_name}, probabilities_name,
                      {integer_attribute("axis", -1)});
    return {};
  }

  std::string normalized(const std::string& from) {
    const auto& [mean, deviation] = *options_.normalization;
    auto dims = std::vector<std::int64_t>(input_dims_.size() + 1, 1);
    dims[1] = std::ssize(mean);
    const auto constant = [&](const char* name, const std::vector<double>& values) {
      return draft_.reals(name, Shape{dims}, values, takes_doubles());
    };
    draft_.add_node("Sub", {from, constant("input.mean", mean)}, "input.shifted");
    const auto* const quotient = takes_doubles() ? "input.standardized" : "input.normalized";
    draft_.add_node("Div", {"input.shifted", constant("input.std", deviation)}, quotient);
    if (takes_doubles())
      draft_.add_node("Cast", {quotient}, "input.normalized", {integer_attribute("to", real_data)});
    return "input.normalized";
  }

  /// Adds the graph's initializers, field 5 each. If a tensor's values follow a part of the file,
  /// that part ends with the header of the values' field.
  void place_initializers(ModelFiles& files, bool beside) const {
    std::uint64_t at = 0;
    for (const auto& tensor : draft_.initializers()) {
      auto described = describe(tensor);
      if (!tensor.bytes.empty()) {
        files.model.push_back({Message{}.message(5, described.text(9, tensor.bytes)).bytes()});
        continue;
      }
      const auto bytes =
          static_cast<std::uint64_t>(tensor.shape.elements()) * size_of(options_.dtype);
      if (!beside) {
        described.begin(9, bytes);
        Message field;
        field.begin(5, described.bytes().size() + bytes);
        files.model.push_back({field.bytes() + described.bytes(), tensor.name});
        continue;
      }
      const auto padding = (page - at % page) % page;
      at += padding;
      const auto entry = [&](const char* key, const std::string& value) {
        described.message(13, Message{}.text(1, key).text(2, value));
      };
      entry("location", options_.values_file);
      entry("offset", std::to_string(at));
      entry("length", std::to_string(bytes));
      files.model.push_back({Message{}.message(5, described.integer(14, 1)).bytes()});
      files.values.push_back({std::string(padding, '\0'), tensor.name});
      at += bytes;
    }
  }

  /// GraphProto: node 1, name 2, input 11, output 12; initializers (5) come last.
  Message graph_head() const {
    auto head = draft_.nodes();
    head.text(2, options_.name);
    head.message(11,
                 value_info(input_name, input_dims_, takes_doubles() ? double_data : real_data));
    head.message(12, value_info(logits_name, output_dims_));
    if (options_.probabilities)
      head.message(12, value_info(probabilities_name, output_dims_));
    return head;
  }

  /// ModelProto: ir_version 1, producer_name 2, producer_version 3, graph 7, opset_import 8 (its
  /// version 2), metadata_props 14 (key 1, value 2).
  void put_before(ModelFiles& files) const {
    const auto head = graph_head();
    Message model;
    model.integer(1, ir_version(options_.opset)).text(2, "troupe");
    model.text(3, options_.producer_version);
    model.message(8, Message{}.text(1, "").integer(2, options_.opset));
    for (const auto& [key, value] : options_.metadata)
      model.message(14, Message{}.text(1, key).text(2, value));
    model.begin(7, head.bytes().size() + bytes_of(files.model, graph_, options_.dtype));
    files.model.insert(files.model.begin(), {model.bytes() + head.bytes()});
  }

  const Graph& graph_;
  const ExportOptions& options_;
  Draft draft_;
  std::vector<std::int64_t> input_dims_, output_dims_;
};

} // namespace

std::uint64_t bytes_of(const std::vector<FilePart>& parts, const Graph& graph, DType dtype) {
  std::uint64_t bytes = 0;
  for (const auto& [text, tensor] : parts) {
    bytes += text.size();
    if (!tensor.empty())
      bytes +=
          static_cast<std::uint64_t>(graph[*graph.find(tensor)].shape.elements()) * size_of(dtype);
  }
  return bytes;
}

Result<ModelFiles> make_model(const Graph& evaluation, const ExportOptions& options) {
  return ModelMaker{evaluation, options}.run();
}

} // namespace troupe::nn::onnx
