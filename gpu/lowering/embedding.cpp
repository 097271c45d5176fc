#include "gpu/kernels/embedding.hpp"

#include "gpu/lowering/lowering.hpp"

namespace troupe::gpu {

namespace {

EmbeddingShape embedding_shape(const Tensor& rows, const Tensor& table) {
  return {.rows = rows.shape[0], .columns = rows.shape[1], .table_rows = table.shape[0]};
}

PositionShape position_shape(const Node& node, const Tensor& rows, const Tensor& table) {
  const auto sequence = std::get<PositionAttributes>(node.attributes).sequence;
  return {.elements = static_cast<std::size_t>(sequence * rows.shape[1]),
          .sequences = static_cast<std::size_t>(rows.shape[0] / sequence),
          .table_elements = static_cast<std::size_t>(table.shape.elements()),
          .columns = static_cast<std::size_t>(rows.shape[1])};
}

} // namespace

Result<StepPtr> lower_embedding(Lowering& lowering, const Node& node) {
  const auto shape = embedding_shape(lowering.output(node), lowering.input(node, 1));
  return kernel_step(node, [shape](const NodeLaunch& l) {
    launch_embedding(l.stream, shape, l.in<std::int32_t>(0), l.in<float>(1), l.out<float>(0));
  });
}

Result<StepPtr> lower_embedding_backward(Lowering& lowering, const Node& node) {
  const auto shape = embedding_shape(lowering.input(node, 0), lowering.output(node));
  return kernel_step(node, shape.link_bytes(), [shape](const NodeLaunch& l) {
    launch_embedding_backward(l.stream, shape, l.in<std::int32_t>(1), l.in<float>(0),
                              reinterpret_cast<std::int32_t*>(l.workspace()), l.out<float>(0));
  });
}

Result<StepPtr> lower_position_embedding(Lowering& lowering, const Node& node) {
  const auto shape = position_shape(node, lowering.input(node, 0), lowering.input(node, 1));
  return kernel_step(node, [shape](const NodeLaunch& l) {
    launch_position_embedding(l.stream, shape, l.in<float>(0), l.in<float>(1),
                              l.in_or_null<std::int32_t>(2), l.out<float>(0));
  });
}

Result<StepPtr> lower_position_embedding_backward(Lowering& lowering, const Node& node) {
  const auto shape = position_shape(node, lowering.input(node, 0), lowering.output(node));
  return kernel_step(node, [shape](const NodeLaunch& l) {
    launch_position_embedding_backward(l.stream, shape, l.in<float>(0), l.out<float>(0));
  });
}

} // namespace troupe::gpu
