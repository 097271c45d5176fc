// The loss of language models. Computes the logits of a chunk of rows at a time and discards them;
// backward recomputes them, unless it also computes the loss. cuBLASLt computes the products, in
// the type of x.
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
        dtype_{lowering.input(node, 0).dtype}, shape_{lowering.graph, node}, layout_{shape_,
                                                                                     dtype_} {
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
                                  .labels = l.data<std::int32_t>(node_.inputs[2]) + first,
                                  .rows = static_cast<int>(products.rows),
                                  .classes = static_cast<int>(shape_.classes),
                                  .smoothing = attributes_.label_smoothing},
                        row_of(l, node_.inputs[0], first), weight};
      TROUPE_TRY(products.logits.run(l.stream, chunk.x, weight, nullptr, logits(l), l.workspace()));
      TROUPE_TRY(work(chunk));
    }
    return {};
  }

  LabelCount label_count(const Launch& l) const {
    return {l.data<std::int32_t>(node_.inputs[2]), static_cast<int>(shape_.rows), attributes_.rows};
  }
  /// Returns row `first` of x or dx.
  std::byte* row_of(const Launch& l, TensorId id, std::int64_t first) const {
    return l.data<std::byte>(id) + static_cast<std::size_t>(first * shape_.width) * size_of(dtype_);
  }
  /// Losses by row.
  float* losses(const Launch& l) const { return floats(l, layout_.losses); }
  /// Scalar: the gradients' factor.
  float* factor(const Launch& l) const { return floats(l, layout_.factor); }
  /// log_sum_exp by row, if backward computes it.
  float* totals(const Launch& l) const { return floats(l, layout_.totals); }
  float* logits(const Launch& l) const { return floats(l, layout_.logits); }
  /// In the type of x; in f32 they overwrite the logits.
  void* dlogits(const Launch& l) const { return l.workspace() + layout_.dlogits; }

  Node node_;
  LossAttributes attributes_;
  DType dtype_;
  LogitChunks shape_;

private:
  /// Offsets in the workspace, which begins with cuBLASLt's part.
  struct Layout {
    std::size_t losses = product_workspace, factor, totals, weight, logits, dlogits, bytes;

    Layout(const LogitChunks& s, DType dtype) {
      const bool narrow = dtype != DType::f32;
      const auto of = [](std::int64_t elements, DType type) {
        return aligned(static_cast<std::size_t>(elements) * size_of(type));
      };
      factor = losses + of(s.rows, DType::f32);
      totals = factor + of(1, DType::f32);
      weight = totals + of(s.rows, DType::f32);
      logits = weight + (narrow ? of(s.classes * s.width, dtype) : 0);
      const auto behind = logits + of(s.chunk() * s.classes, DType::f32);
      dlogits = narrow ? behind : logits;
      bytes = behind + (narrow ? of(s.chunk() * s.classes, dtype) : 0);
    }
  };

  static float* floats(const Launch& l, std::size_t offset) {
    return reinterpret_cast<float*>(l.workspace() + offset);
  }

  const void* rounded_weight(const Launch& l) const {
    if (dtype_ == DType::f32)
      return l.data(node_.inputs[1]);
    auto* const rounded = l.workspace() + layout_.weight;
    launch_cast(l.stream, l.data(node_.inputs[1]), DType::f32, rounded, dtype_,
                static_cast<std::size_t>(shape_.classes * shape_.width));
    return rounded;
  }

  Result<ChunkProducts> products_of(Lowering& lowering, std::int64_t rows, bool backward) const {
    TROUPE_TRY(auto forward, product(lowering, Product::forward, rows, DType::f32));
    ChunkProducts products{rows, std::move(forward), {}, {}};
    if (backward) {
      TROUPE_TRY(products.data, product(lowering, Product::backward_data, rows, dtype_));
      TROUPE_TRY(products.weights, product(lowering, Product::backward_weight, rows, DType::f32));
    }
    return products;
  }

  Result<Matmul> product(Lowering& lowering, Product kind, std::int64_t rows, DType result) const {
    return lowering.product({.product = kind,
                             .rows = rows,
                             .in = shape_.width,
                             .out = shape_.classes,
                             .operands = dtype_,
                             .result = result});
  }

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
  using LinearCrossEntropyStep::LinearCrossEntropyStep;

  Status enqueue(const Launch& l) override {
    const std::size_t scale = attributes_.loss ? 3 : 4;
    launch_gradient_factor(
        l.stream, label_count(l),
        node_.inputs.size() > scale ? l.data<float>(node_.inputs[scale]) : nullptr, factor(l));
    TROUPE_TRY(for_chunks(l, [&](const Chunk& chunk) {
      launch_logit_gradients(l.stream, chunk.rows, log_sum_exp(l, chunk), factor(l), dtype_,
                             dlogits(l));
      return multiply(l, chunk);
    }));
    if (attributes_.loss)
      launch_mean_loss(l.stream, label_count(l), losses(l), l.data<float>(node_.outputs[2]),
                       l.data<float>(node_.outputs[3]));
    return {};
  }

private:
  /// Returns a chunk's log_sum_exp: saved by forward, or computed here together with the losses.
  const float* log_sum_exp(const Launch& l, const Chunk& chunk) const {
    if (!attributes_.loss)
      return l.data<float>(node_.inputs[3]) + chunk.first;
    auto* const made = totals(l) + chunk.first;
    launch_row_losses(l.stream, chunk.rows, made, losses(l) + chunk.first);
    return made;
  }

  /// Writes the first chunk's part of dweight, and adds the parts of later chunks.
  Status multiply(const Launch& l, const Chunk& chunk) const {
    auto* const dweight = l.data(node_.outputs[1]);
    TROUPE_TRY(chunk.products.data->run(l.stream, dlogits(l), chunk.weight, nullptr,
                                        row_of(l, node_.outputs[0], chunk.first), l.workspace()));
    if (chunk.first == 0)
      return chunk.products.weights->run(l.stream, dlogits(l), chunk.x, nullptr, dweight,
                                         l.workspace());
    return chunk.products.weights->add(l.stream, dlogits(l), chunk.x, dweight, l.workspace());
  }
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
