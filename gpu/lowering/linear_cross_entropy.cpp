// The loss of language models. Computes the logits of a chunk of rows at a time and discards them;
// backward recomputes them, unless it also computes the loss. cuBLASLt computes the products, in
// the type of x, which the logits have, too. Their gradients overwrite them.
#include "gpu/lowering/linear_cross_entropy.hpp"

#include "core/fail.hpp"
#include "gpu/kernels/flat.hpp"
#include "gpu/kernels/linear_cross_entropy.hpp"
#include "gpu/lowering/lowering.hpp"

#include <optional>

namespace troupe::gpu {

namespace {

/// The products of a chunk with this many rows.
struct ChunkProducts {
  std::int64_t rows;
  Matmul logits;                       ///< x * weight^T
  std::optional<Matmul> data, weights; ///< dlogits * weight; dlogits^T * x
};

class LinearCrossEntropyStep : public Step {
public:
  LinearCrossEntropyStep(const Lowering& lowering, const Node& node)
      : node_{node}, attributes_{std::get<LossAttributes>(node.attributes)},
        shape_{lowering.graph, node, lowering.options.logit_bytes},
        rounds_weight_{!lowering.is_read_as(node.inputs[1], shape_.dtype)},
        weight_{lowering.view_weight(node.inputs[1], shape_.dtype)}, layout_{shape_,
                                                                             rounds_weight_} {
    name = to_string(node.op);
  }

  /// Chooses the products of a chunk, and those of the last chunk if it has fewer rows.
  Status choose_products(Lowering& lowering, bool backward) {
    for (const auto rows : {shape_.chunk(), shape_.last()})
      if (products_.empty() || rows != products_.front().rows) {
        TROUPE_TRY(auto made, products_of(lowering, rows, backward));
        products_.push_back(std::move(made));
      }
    return {};
  }

  std::size_t workspace_bytes() const override { return layout_.bytes; }

protected:
  /// A chunk of rows with their logits.
  struct Chunk {
    const ChunkProducts& products;
    std::int64_t first;
    LogitRows rows;
    const std::byte* x;
    const void* weight;
  };

  /// Calls work(chunk) for all chunks in order.
  template <class Work>
  Status for_chunks(const Launch& l, Work work) const {
    const void* const weight = rounded_weight(l);
    for (std::int64_t first = 0; first < shape_.rows; first += shape_.chunk()) {
      const auto& products =
          shape_.rows - first < shape_.chunk() ? products_.back() : products_.front();
      const Chunk chunk{products, first,
                        LogitRows{.logits = logits(l),
                                  .dtype = shape_.dtype,
                                  .labels = l.data<std::int32_t>(node_.inputs[2]) + first,
                                  .rows = static_cast<int>(products.rows),
                                  .classes = static_cast<int>(shape_.classes),
                                  .smoothing = attributes_.label_smoothing},
                        row_of(l, node_.inputs[0], first), weight};
      TROUPE_TRY(products.logits.run(l.stream, {chunk.x, weight, logits(l), l.workspace()}));
      TROUPE_TRY(work(chunk));
    }
    return {};
  }

  LabelCount label_count(const Launch& l) const {
    return {l.data<std::int32_t>(node_.inputs[2]), static_cast<int>(shape_.rows), attributes_.rows};
  }
  /// Returns row `first` of x or dx.
  std::byte* row_of(const Launch& l, TensorId id, std::int64_t first) const {
    return l.data<std::byte>(id) +
           static_cast<std::size_t>(first * shape_.width) * size_of(shape_.dtype);
  }
  /// Losses by row.
  float* losses(const Launch& l) const { return floats(l, layout_.losses); }
  /// Scalar: the gradients' factor.
  float* factor(const Launch& l) const { return floats(l, layout_.factor); }
  void* logits(const Launch& l) const { return l.workspace() + layout_.logits; }

  Node node_;
  LossAttributes attributes_;
  LogitChunks shape_;

private:
  /// Offsets in the workspace, which begins with cuBLASLt's part.
  struct Layout {
    std::size_t losses = product_workspace, factor, weight, logits, bytes;

    Layout(const LogitChunks& s, bool rounds_weight) {
      const auto of = [](std::int64_t elements, DType type) {
        return aligned(static_cast<std::size_t>(elements) * size_of(type));
      };
      factor = losses + of(s.rows, DType::f32);
      weight = factor + of(1, DType::f32);
      logits = weight + (rounds_weight ? of(s.classes * s.width, s.dtype) : 0);
      bytes = logits + of(s.chunk() * s.classes, s.dtype);
    }
  };

  static float* floats(const Launch& l, std::size_t offset) {
    return reinterpret_cast<float*>(l.workspace() + offset);
  }

  const void* rounded_weight(const Launch& l) const {
    if (!rounds_weight_)
      return weight_.data(l);
    auto* const rounded = l.workspace() + layout_.weight;
    launch_cast(l.stream, l.data(node_.inputs[1]), DType::f32, rounded, shape_.dtype,
                static_cast<std::size_t>(shape_.classes * shape_.width));
    return rounded;
  }

  Result<ChunkProducts> products_of(Lowering& lowering, std::int64_t rows, bool backward) const {
    TROUPE_TRY(auto forward, product(lowering, Product::forward, rows, shape_.dtype));
    ChunkProducts products{rows, std::move(forward), {}, {}};
    if (backward) {
      TROUPE_TRY(products.data, product(lowering, Product::backward_data, rows, shape_.dtype));
      TROUPE_TRY(products.weights, product(lowering, Product::backward_weight, rows, DType::f32));
    }
    return products;
  }

  Result<Matmul> product(Lowering& lowering, Product kind, std::int64_t rows, DType result) const {
    TROUPE_TRY(auto chosen, lowering.product({.product = kind,
                                              .rows = rows,
                                              .in = shape_.width,
                                              .out = shape_.classes,
                                              .operands = shape_.dtype,
                                              .result = result}));
    return std::move(chosen.matmul);
  }

  bool rounds_weight_; ///< at each pass: the weight is an f32 activation
  WeightView weight_;
  Layout layout_;
  std::vector<ChunkProducts> products_;
};

class LinearCrossEntropy final : public LinearCrossEntropyStep {
public:
  using LinearCrossEntropyStep::LinearCrossEntropyStep;

  Status enqueue(const Launch& l) override {
    auto* const log_sum_exp = l.data<float>(node_.outputs[1]);
    TROUPE_TRY(for_chunks(l, [&](const Chunk& chunk) -> Status {
      launch_row_losses(l.stream, chunk.rows, log_sum_exp + chunk.first, losses(l) + chunk.first);
      return {};
    }));
    launch_mean_loss(l.stream, label_count(l), losses(l), l.data<float>(node_.outputs[0]),
                     l.data<float>(node_.outputs[2]));
    return {};
  }
};

class LinearCrossEntropyBackward final : public LinearCrossEntropyStep {
public:
  LinearCrossEntropyBackward(Lowering& lowering, const Node& node)
      : LinearCrossEntropyStep{lowering, node}, adds_{lowering.add_without_copy(node.outputs[1])} {}

  Status enqueue(const Launch& l) override {
    const std::size_t scale = attributes_.loss ? 3 : 4;
    launch_gradient_factor(
        l.stream, label_count(l),
        node_.inputs.size() > scale ? l.data<float>(node_.inputs[scale]) : nullptr, factor(l));
    TROUPE_TRY(for_chunks(l, [&](const Chunk& chunk) {
      launch_logit_gradients(l.stream, chunk.rows, log_sum_exp(l, chunk), factor(l),
                             losses(l) + chunk.first);
      return multiply(l, chunk);
    }));
    if (attributes_.loss)
      launch_mean_loss(l.stream, label_count(l), losses(l), l.data<float>(node_.outputs[2]),
                       l.data<float>(node_.outputs[3]));
    return {};
  }

private:
  /// Returns a chunk's log_sum_exp, saved by forward; null if it is computed with the gradients.
  const float* log_sum_exp(const Launch& l, const Chunk& chunk) const {
    return attributes_.loss ? nullptr : l.data<float>(node_.inputs[3]) + chunk.first;
  }

  /// Writes the first chunk's part of dweight, unless it is added to earlier passes' gradients, and
  /// adds the parts of later chunks.
  Status multiply(const Launch& l, const Chunk& chunk) const {
    const auto* const dlogits = chunk.rows.logits;
    TROUPE_TRY(chunk.products.data->run(
        l.stream,
        {dlogits, chunk.weight, row_of(l, node_.outputs[0], chunk.first), l.workspace()}));
    auto* const sum = adds_ ? l.sum_of(node_.outputs[1]) : nullptr;
    const MatmulMemory weights{dlogits, chunk.x, sum ? sum : l.data(node_.outputs[1]),
                               l.workspace()};
    return chunk.first == 0 && !sum ? chunk.products.weights->run(l.stream, weights)
                                    : chunk.products.weights->add(l.stream, weights);
  }

  bool adds_;
};

template <class T>
Result<StepPtr> lower_loss(Lowering& lowering, const Node& node, bool backward) {
  auto step = std::make_unique<T>(lowering, node);
  TROUPE_TRY(step->choose_products(lowering, backward));
  return step;
}

} // namespace

Result<StepPtr> lower_linear_cross_entropy(Lowering& lowering, const Node& node) {
  return lower_loss<LinearCrossEntropy>(lowering, node, false);
}

Result<StepPtr> lower_linear_cross_entropy_backward(Lowering& lowering, const Node& node) {
  return lower_loss<LinearCrossEntropyBackward>(lowering, node, true);
}

} // namespace troupe::gpu
