// Rows of tables. Gradients of rows are added in the order of the rows, for any number of threads:
// each thread has its own columns.
#include "core/fail.hpp"
#include "cpu/detail/sequence_places.hpp"
#include "cpu/kernels/kernels.hpp"
#include "cpu/onednn/detail/parallel_step.hpp"

#include <algorithm>

namespace troupe::cpu {

namespace {

/// A table and rows of its width, f32.
struct TableShape {
  std::size_t rows, width, table_rows;

  TableShape(const Tensor& rows_, const Tensor& table)
      : rows{static_cast<std::size_t>(rows_.shape[0])}, width{static_cast<std::size_t>(
                                                            rows_.shape[1])},
        table_rows{static_cast<std::size_t>(table.shape[0])} {}
};

class EmbeddingStep : public Step {
public:
  EmbeddingStep(const Node& node, TensorId ids, const TableShape& shape)
      : node_{node}, ids_{ids}, shape_{shape} {
    name = to_string(node.op);
    bytes = static_cast<double>(2 * shape.rows * shape.width * sizeof(float));
  }

protected:
  const std::int32_t* ids(const Frame& frame) const { return frame.data<std::int32_t>(ids_); }
  Status check_ids(const Frame& frame) const {
    for (std::size_t n = 0; n < shape_.rows; ++n)
      if (const auto id = ids(frame)[n];
          id < 0 || static_cast<std::size_t>(id) >= shape_.table_rows)
        return fail(Errc::data, "an id is {}, but the table has {} rows", id, shape_.table_rows);
    return {};
  }

  Node node_;
  TensorId ids_;
  TableShape shape_;
};

class Embedding final : public EmbeddingStep {
public:
  using EmbeddingStep::EmbeddingStep;

  Status run(const Frame& frame) override {
    TROUPE_TRY(check_ids(frame));
    const auto* const table = frame.data<float>(node_.inputs[1]);
    auto* const y = frame.data<float>(node_.outputs[0]);
    parallel_for(shape_.rows, 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t n = begin; n < end; ++n) {
        const auto* const row = table + static_cast<std::size_t>(ids(frame)[n]) * shape_.width;
        std::copy_n(row, shape_.width, y + n * shape_.width);
      }
    });
    return {};
  }
};

class EmbeddingBackward final : public EmbeddingStep {
public:
  using EmbeddingStep::EmbeddingStep;

  Status run(const Frame& frame) override {
    TROUPE_TRY(check_ids(frame));
    const auto* const dy = frame.data<float>(node_.inputs[0]);
    auto* const dtable = frame.data<float>(node_.outputs[0]);
    parallel_for(shape_.table_rows * shape_.width, 65536, [&](std::size_t begin, std::size_t end) {
      std::fill(dtable + begin, dtable + end, 0.0f);
    });
    parallel_for(shape_.width, 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t n = 0; n < shape_.rows; ++n)
        kernels().add(dtable + static_cast<std::size_t>(ids(frame)[n]) * shape_.width + begin,
                      dy + n * shape_.width + begin, end - begin);
    });
    return {};
  }
};

std::size_t sequence_of(const Node& node) {
  return static_cast<std::size_t>(std::get<PositionAttributes>(node.attributes).sequence);
}

class PositionEmbedding final : public Step {
public:
  PositionEmbedding(const Node& node, const TableShape& shape) : node_{node}, shape_{shape} {
    name = to_string(node.op);
    bytes = static_cast<double>(3 * shape.rows * shape.width * sizeof(float));
  }

  Status run(const Frame& frame) override {
    const auto sequence = sequence_of(node_);
    const std::int32_t first =
        node_.inputs.size() == 3 ? *frame.data<std::int32_t>(node_.inputs[2]) : 0;
    TROUPE_TRY(check_places(first, static_cast<std::int64_t>(sequence),
                            static_cast<std::int64_t>(shape_.table_rows)));
    const auto* const places =
        frame.data<float>(node_.inputs[1]) + static_cast<std::size_t>(first) * shape_.width;
    parallel_for(shape_.rows, 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row)
        kernels().f32.add(frame.data<float>(node_.inputs[0]) + row * shape_.width,
                          places + row % sequence * shape_.width,
                          frame.data<float>(node_.outputs[0]) + row * shape_.width, shape_.width);
    });
    return {};
  }

private:
  Node node_;
  TableShape shape_;
};

/// Adds the rows of all sequences at one position.
void add_places(const TableShape& shape, std::size_t sequence, const float* dy, float* dtable,
                std::size_t place) {
  float* const sum = dtable + place * shape.width;
  std::fill_n(sum, shape.width, 0.0f);
  for (std::size_t row = place; place < sequence && row < shape.rows; row += sequence)
    kernels().add(sum, dy + row * shape.width, shape.width);
}

} // namespace

Result<StepPtr> lower_embedding(Lowering& lowering, const Node& node) {
  const auto& graph = lowering.graph;
  return std::make_unique<Embedding>(node, node.inputs[0],
                                     TableShape{graph[node.outputs[0]], graph[node.inputs[1]]});
}

Result<StepPtr> lower_embedding_backward(Lowering& lowering, const Node& node) {
  const auto& graph = lowering.graph;
  return std::make_unique<EmbeddingBackward>(
      node, node.inputs[1], TableShape{graph[node.inputs[0]], graph[node.outputs[0]]});
}

Result<StepPtr> lower_position_embedding(Lowering& lowering, const Node& node) {
  const auto& graph = lowering.graph;
  return std::make_unique<PositionEmbedding>(
      node, TableShape{graph[node.inputs[0]], graph[node.inputs[1]]});
}

Result<StepPtr> lower_position_embedding_backward(Lowering& lowering, const Node& node) {
  const TableShape shape{lowering.graph[node.inputs[0]], lowering.graph[node.outputs[0]]};
  const auto bytes = static_cast<double>(2 * shape.rows * shape.width * sizeof(float));
  return parallel_step(node, bytes, shape.table_rows, 4,
                       [node, shape, sequence = sequence_of(node)](
                           const Frame& frame, std::size_t begin, std::size_t end) {
                         for (std::size_t place = begin; place < end; ++place)
                           add_places(shape, sequence, frame.data<float>(node.inputs[0]),
                                      frame.data<float>(node.outputs[0]), place);
                       });
}

} // namespace troupe::cpu
