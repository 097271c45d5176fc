#include "gpu/cudnn/attention.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace troupe::gpu::cudnn {

namespace {

constexpr auto wide = CUDNN_DATA_FLOAT;

/// Exchanges rows and columns.
Dims transposed(Dims dims) {
  std::swap(dims[2], dims[3]);
  return dims;
}

/// Strides of (batch, heads, rows, columns) without gaps.
Dims contiguous(const Dims& dims) {
  return {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
}

/// Collects the tensors and operations of one graph. Results of operations are virtual tensors
/// without gaps, fp32 by default.
class AttentionBuilder {
public:
  AttentionBuilder(std::string_view pattern, const AttentionProblem& problem) : p_{problem} {
    graph_.name = fmt::format("{} {}", pattern, problem.to_string());
    graph_.unmasked = 0.5;
  }

  Uid add(TensorSpec tensor) {
    graph_.tensors.push_back(tensor);
    return tensor.uid;
  }
  /// Adds a bound tensor with the rows of `heads` heads, which are `distance` elements apart.
  Uid rows(Uid uid, std::int64_t heads, std::int64_t distance) {
    return add({.uid = uid,
                .type = p_.type,
                .dims = {p_.batch, heads, p_.sequence, p_.head_dim},
                .strides = Dims{p_.sequence * distance, p_.head_dim, distance, 1}});
  }
  /// As rows(), with rows and columns exchanged.
  Uid columns(Uid uid, std::int64_t heads, std::int64_t distance) {
    rows(uid, heads, distance);
    auto& tensor = graph_.tensors.back();
    tensor.dims = transposed(tensor.dims);
    tensor.strides = transposed(*tensor.strides);
    return uid;
  }
  Uid log_sum_exp() {
    return add({.uid = uid::attention_log_sum_exp,
                .type = wide,
                .dims = per_row(),
                .strides = contiguous(per_row())});
  }
  Uid scratch(const Dims& dims) {
    return add({.uid = next_++,
                .type = wide,
                .dims = dims,
                .strides = contiguous(dims),
                .is_scratch = true});
  }
  Uid constant(float value) {
    const Dims one{1, 1, 1, 1};
    return add({.uid = next_++, .type = wide, .dims = one, .strides = one, .value = value});
  }

  Dims per_row() const { return {p_.batch, p_.heads, p_.sequence, 1}; }
  Dims all_rows() const { return {p_.batch, p_.heads, p_.sequence, p_.head_dim}; }
  Dims scores() const { return {p_.batch, p_.heads, p_.sequence, p_.sequence}; }

  Uid inner(const Dims& dims, cudnnDataType_t type = wide) {
    return add({.uid = next_++,
                .type = type,
                .dims = dims,
                .is_virtual = true,
                .strides = contiguous(dims)});
  }
  Uid unary(cudnnPointwiseMode_t mode, Uid x) {
    const auto y = inner(graph_.find(x)->dims);
    run(PointwiseOp{.mode = mode, .x = x, .y = y});
    return y;
  }
  Uid binary(cudnnPointwiseMode_t mode, Uid x, Uid b, cudnnDataType_t type = wide) {
    const auto y = inner(graph_.find(x)->dims, type);
    run(PointwiseOp{.mode = mode, .x = x, .b = b, .y = y});
    return y;
  }
  Uid select(Uid condition, Uid x, Uid otherwise) {
    const auto y = inner(graph_.find(x)->dims);
    run(PointwiseOp{
        .mode = CUDNN_POINTWISE_BINARY_SELECT, .x = x, .b = otherwise, .y = y, .t = condition});
    return y;
  }
  /// Returns each element's index along `axis`.
  Uid index(Uid x, std::int64_t axis) {
    const auto y = inner(graph_.find(x)->dims, CUDNN_DATA_INT32);
    run(GenIndexOp{x, y, axis});
    return y;
  }
  Uid product(Uid a, Uid b, const Dims& dims, cudnnDataType_t type = wide) {
    const auto c = inner(dims, type);
    run(MatmulOp{a, b, c});
    return c;
  }
  Uid reduce(cudnnReduceTensorOp_t mode, Uid x) {
    const auto y = inner(per_row());
    run(ReductionOp{mode, x, y});
    return y;
  }
  /// Views x with rows and columns exchanged, in the problem's type.
  Uid transpose(Uid x) {
    const auto tensor = *graph_.find(x);
    const auto y = add({.uid = next_++,
                        .type = p_.type,
                        .dims = transposed(tensor.dims),
                        .is_virtual = true,
                        .strides = transposed(*tensor.strides)});
    run(TransposeOp{x, y});
    return y;
  }

  void run(const Operation& operation) { graph_.operations.push_back(operation); }
  OperationGraph take() { return std::move(graph_); }

private:
  const AttentionProblem& p_;
  OperationGraph graph_;
  Uid next_ = 200;
};

/// Adds q and k; k's rows are the columns of the second factor.
std::pair<Uid, Uid> add_q_and_k(AttentionBuilder& builder, const AttentionProblem& p) {
  const auto q = builder.rows(uid::attention_q, p.heads, p.q_distance);
  return {q, builder.columns(uid::attention_k, p.kv_heads, p.kv_distance)};
}

/// Replaces the scores of later keys by minus infinity. The only function that other masks (a
/// sliding window, boundaries of documents) would extend.
Uid causal_mask(AttentionBuilder& builder, Uid scores) {
  const auto row = builder.index(scores, 2);
  const auto column = builder.index(scores, 3);
  const auto seen = builder.binary(CUDNN_POINTWISE_CMP_GE, row, column, CUDNN_DATA_BOOLEAN);
  return builder.select(seen, scores, builder.constant(-std::numeric_limits<float>::infinity()));
}

/// Returns e^(scores - maximum) / sum in the problem's type, and writes log_sum_exp.
Uid softmax(AttentionBuilder& builder, Uid scores, cudnnDataType_t type) {
  const auto most = builder.reduce(CUDNN_REDUCE_TENSOR_MAX, scores);
  const auto exponentials =
      builder.unary(CUDNN_POINTWISE_EXP, builder.binary(CUDNN_POINTWISE_SUB, scores, most));
  const auto sum = builder.reduce(CUDNN_REDUCE_TENSOR_ADD, exponentials);
  builder.run(PointwiseOp{.mode = CUDNN_POINTWISE_ADD,
                          .x = most,
                          .b = builder.unary(CUDNN_POINTWISE_LOG, sum),
                          .y = builder.log_sum_exp()});
  return builder.binary(CUDNN_POINTWISE_DIV, exponentials, sum, type);
}

/// Writes a gradient of k or v: transposed(weights) * rows, summed over the heads that share it.
void reduce_heads(AttentionBuilder& builder, const AttentionProblem& p, Uid weights, Uid rows,
                  Uid gradient) {
  const auto factor = builder.transpose(weights);
  const auto written = builder.rows(gradient, p.kv_heads, p.kv_distance);
  if (p.heads == p.kv_heads)
    return builder.run(MatmulOp{factor, rows, written});
  const auto by_head = builder.product(factor, rows, builder.all_rows(), p.type);
  builder.run(ReductionOp{CUDNN_REDUCE_TENSOR_ADD, by_head, written});
}

/// Writes dq = dscores * k. Blocks of keys run concurrently: unless it must be deterministic, they
/// add to fp32 scratch memory.
void gradient_of_q(AttentionBuilder& builder, const AttentionProblem& p, Uid dscores, Uid k,
                   bool deterministic) {
  const auto rows_of_k = builder.transpose(k);
  const auto dq = builder.rows(uid::attention_dq, p.heads, p.q_distance);
  if (deterministic)
    return builder.run(MatmulOp{dscores, rows_of_k, dq});
  const auto sums = builder.scratch(builder.all_rows());
  builder.run(MatmulOp{dscores, rows_of_k, sums});
  builder.run(PointwiseOp{.mode = CUDNN_POINTWISE_IDENTITY, .x = sums, .y = dq});
}

} // namespace

std::string AttentionProblem::to_string() const {
  const auto shared = heads == kv_heads ? "" : fmt::format("/{}", kv_heads);
  return fmt::format("{}x{}, {}{} heads of {}", batch, sequence, heads, shared, head_dim);
}

OperationGraph attention_forward(const AttentionProblem& p) {
  AttentionBuilder builder("attention forward", p);
  const auto [q, k] = add_q_and_k(builder, p);
  const auto v = builder.rows(uid::attention_v, p.kv_heads, p.kv_distance);
  const auto products = builder.product(q, k, builder.scores());
  const auto scores = builder.binary(CUDNN_POINTWISE_MUL, products, builder.constant(p.scale));
  const auto weights = softmax(builder, causal_mask(builder, scores), p.type);
  const auto y = builder.rows(uid::attention_y, p.heads, p.heads * p.head_dim);
  builder.run(MatmulOp{weights, v, y});
  return builder.take();
}

OperationGraph attention_backward(const AttentionProblem& p, bool deterministic) {
  AttentionBuilder builder(
      fmt::format("attention backward{}", deterministic ? ", deterministic," : ""), p);
  const auto [q, k] = add_q_and_k(builder, p);
  const auto v = builder.columns(uid::attention_v, p.kv_heads, p.kv_distance);
  const auto y = builder.rows(uid::attention_y, p.heads, p.heads * p.head_dim);
  const auto dy = builder.rows(uid::attention_dy, p.heads, p.heads * p.head_dim);
  const auto log_sum_exp = builder.log_sum_exp();
  const auto scale = builder.constant(p.scale);

  const auto sums =
      builder.reduce(CUDNN_REDUCE_TENSOR_ADD, builder.binary(CUDNN_POINTWISE_MUL, dy, y));
  const auto means = builder.scratch(builder.per_row());
  // The factor is that of dropout, which the engines expect.
  builder.run(
      PointwiseOp{.mode = CUDNN_POINTWISE_MUL, .x = sums, .b = builder.constant(1.0f), .y = means});

  const auto products = builder.product(q, k, builder.scores());
  const auto scores = builder.binary(CUDNN_POINTWISE_MUL, products, scale);
  const auto logarithms = builder.binary(CUDNN_POINTWISE_SUB, scores, log_sum_exp);
  const auto weights = builder.unary(CUDNN_POINTWISE_EXP, causal_mask(builder, logarithms));
  reduce_heads(builder, p, weights, dy, uid::attention_dv);

  const auto dweights = builder.product(dy, v, builder.scores());
  const auto centered = builder.binary(CUDNN_POINTWISE_SUB, dweights, means);
  const auto dscores = builder.binary(
      CUDNN_POINTWISE_MUL, builder.binary(CUDNN_POINTWISE_MUL, centered, weights), scale);
  reduce_heads(builder, p, dscores, q, uid::attention_dk);
  gradient_of_q(builder, p, dscores, k, deterministic);
  return builder.take();
}

} // namespace troupe::gpu::cudnn
