// Rows of tables. Gradients of rows are added in the order of the rows, for any number of threads:
// each thread has its own columns.
#include "core/fail.hpp"
#include "cpu/detail/sequence_places.hpp"
#include "cpu/onednn/lowering.hpp"

#include <algorithm>

namespace troupe::cpu {

namespace {

/// A table and rows of its width, f32.
struct TableShape {
  std::size_t rows, width, table_rows;

  TableShape(const Tensor& rows_, const Tensor& table)
      : rows{rows_.shape.size(0)}, width{rows_.shape.size(1)}, table_rows{table.shape.size(0)} {}
  /// Bytes of all rows, `times` times.
  double bytes(std::size_t times) const {
    return static_cast<double>(times * rows * width * sizeof(float));
  }
};

Status check_ids(const std::int32_t* ids, const TableShape& shape) {
  for (std::size_t n = 0; n < shape.rows; ++n)
    if (const auto id = ids[n]; id < 0 || static_cast<std::size_t>(id) >= shape.table_rows)
      return fail(Errc::data, "an id is {}, but the table has {} rows", id, shape.table_rows);
  return {};
}

std::size_t sequence_of(const Node& node) {
  return static_cast<std::size_t>(std::get<PositionAttributes>(node.attributes).sequence);
}

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
  const TableShape shape{lowering.graph[node.outputs[0]], lowering.graph[node.inputs[1]]};
  return function_step(node, shape.bytes(2), 0, [shape](const NodeFrame& frame) -> Status {
    const auto* const ids = frame.in<std::int32_t>(0);
    TROUPE_TRY(check_ids(ids, shape));
    const auto* const table = frame.in<float>(1);
    auto* const y = frame.out<float>(0);
    parallel_for(shape.rows, 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t n = begin; n < end; ++n)
        std::copy_n(table + static_cast<std::size_t>(ids[n]) * shape.width, shape.width,
                    y + n * shape.width);
    });
    return {};
  });
}

Result<StepPtr> lower_embedding_backward(Lowering& lowering, const Node& node) {
  const TableShape shape{lowering.graph[node.inputs[0]], lowering.graph[node.outputs[0]]};
  return function_step(node, shape.bytes(2), 0, [shape](const NodeFrame& frame) -> Status {
    const auto* const ids = frame.in<std::int32_t>(1);
    TROUPE_TRY(check_ids(ids, shape));
    const auto* const dy = frame.in<float>(0);
    auto* const dtable = frame.out<float>(0);
    parallel_for(shape.table_rows * shape.width, 65536, [&](std::size_t begin, std::size_t end) {
      std::fill(dtable + begin, dtable + end, 0.0f);
    });
    parallel_for(shape.width, 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t n = 0; n < shape.rows; ++n)
        kernels().add(dtable + static_cast<std::size_t>(ids[n]) * shape.width + begin,
                      dy + n * shape.width + begin, end - begin);
    });
    return {};
  });
}

Result<StepPtr> lower_position_embedding(Lowering& lowering, const Node& node) {
  const TableShape shape{lowering.graph[node.inputs[0]], lowering.graph[node.inputs[1]]};
  const auto sequence = sequence_of(node);
  return function_step(
      node, shape.bytes(3), 0, [shape, sequence](const NodeFrame& frame) -> Status {
        const auto* const given = frame.in_or_null<std::int32_t>(2);
        const std::int32_t first = given ? *given : 0;
        TROUPE_TRY(check_places(first, static_cast<std::int64_t>(sequence),
                                static_cast<std::int64_t>(shape.table_rows)));
        const auto* const places =
            frame.in<float>(1) + static_cast<std::size_t>(first) * shape.width;
        parallel_for(shape.rows, 16, [&](std::size_t begin, std::size_t end) {
          for (std::size_t row = begin; row < end; ++row)
            kernels().f32.add(frame.in<float>(0) + row * shape.width,
                              places + row % sequence * shape.width,
                              frame.out<float>(0) + row * shape.width, shape.width);
        });
        return {};
      });
}

Result<StepPtr> lower_position_embedding_backward(Lowering& lowering, const Node& node) {
  const TableShape shape{lowering.graph[node.inputs[0]], lowering.graph[node.outputs[0]]};
  return parallel_step(node, shape.bytes(2), shape.table_rows, 4,
                       [shape, sequence = sequence_of(node)](const NodeFrame& frame,
                                                             std::size_t begin, std::size_t end) {
                         for (std::size_t place = begin; place < end; ++place)
                           add_places(shape, sequence, frame.in<float>(0), frame.out<float>(0),
                                      place);
                       });
}

} // namespace troupe::cpu
