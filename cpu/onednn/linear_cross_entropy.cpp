// The loss of language models. Logits of a chunk of rows are computed, used and discarded; backward
// computes them again, unless it also computes the loss. Products are the library's: in bf16 with
// sums in f32 if x is bf16 and the processor multiplies it, else in f32. If the processor has
// tiles, bf16 uses our kernels (linear_cross_entropy_tiles.cpp).
#include "cpu/onednn/detail/convert.hpp"
#include "cpu/onednn/detail/head_loss.hpp"
#include "cpu/onednn/detail/matrix_product.hpp"

#include <algorithm>
#include <optional>

namespace troupe::cpu {

namespace {

/// Rows of `width` values (C) and `classes` logits (V) each.
struct LogitShape {
  std::int64_t rows, width, classes;

  /// Rows of a chunk: at least 16, else as many as have logits of at most 128 MiB. The whole weight
  /// and its gradient are read again for each chunk.
  std::int64_t chunk() const {
    constexpr std::int64_t logits = 32 << 20;
    return std::min(rows, std::max<std::int64_t>(logits / classes, 16));
  }
  static std::size_t bytes(std::int64_t rows_, std::int64_t columns) {
    return aligned(static_cast<std::size_t>(rows_ * columns) * sizeof(float));
  }
};

/// The products of a chunk of `rows` rows.
struct ChunkProducts {
  std::int64_t rows;
  MatrixProduct logits;                       ///< x * weight^T
  std::optional<MatrixProduct> data, weights; ///< dlogits * weight; and += dlogits^T * x

  /// `type`: type of the operands. If it is narrower than f32, gradients of logits are stored in
  /// the first halves of the f32 rows.
  ChunkProducts(const Library& library, const LogitShape& s, std::int64_t count, DType type,
                bool backward)
      : rows{count}, logits{library,
                            {count, s.width, false, type},
                            {s.width, s.classes, true, type},
                            {count, s.classes}} {
    if (!backward)
      return;
    const auto distance = s.classes * static_cast<std::int64_t>(sizeof(float) / size_of(type));
    const Matrix x{count, s.width, false, type};
    data.emplace(library, Matrix{count, s.classes, false, type, distance},
                 Matrix{s.classes, s.width, false, type}, x);
    weights.emplace(library, Matrix{s.classes, count, true, type, distance}, x,
                    Matrix{s.classes, s.width}, ProductTeam::together,
                    ProductEnd{.accumulate = true});
  }

  std::size_t scratchpad_bytes() const {
    std::size_t most = logits.scratchpad_bytes();
    for (const auto* one : {&data, &weights})
      if (*one)
        most = std::max(most, (*one)->scratchpad_bytes());
    return aligned(most);
  }
};

class LinearCrossEntropy final : public Step {
public:
  LinearCrossEntropy(const Lowering& lowering, const Node& node, bool backward)
      : node_{node}, backward_{backward}, head_{lowering.graph, node},
        dtype_{lowering.graph[node.inputs[0]].dtype}, multiplied_{lowering.compute_type(dtype_)} {
    const auto &x = lowering.graph[node.inputs[0]].shape,
               &weight = lowering.graph[node.inputs[1]].shape;
    shape_ = {x[0], x[1], weight[0]};
    const ThreadScope scope{lowering.options.threads};
    products_.emplace_back(lowering.library, shape_, shape_.chunk(), multiplied_, backward);
    if (const auto rest = shape_.rows % shape_.chunk(); rest > 0)
      products_.emplace_back(lowering.library, shape_, rest, multiplied_, backward);
    name = to_string(node.op);
    operations = head_.operations(backward ? 3 : 1);
  }

  bool by_library_threads() const override { return true; }
  /// Scratch of the library; logits; if x is narrower than f32, the rounded weight, and if the
  /// product is nevertheless in f32, x and dx.
  std::size_t scratch_bytes() const override {
    return library_bytes() + LogitShape::bytes(shape_.chunk(), shape_.classes) +
           (widens() ? 2 * wide_bytes() : 0) + (dtype_ == DType::f32 ? 0 : weight_bytes());
  }

  Status run(const Frame& frame) override {
    TROUPE_TRY(const auto count, head_.counted(frame));
    head_.begin();
    if (backward_)
      run_backward(frame, head_.share(frame, count));
    else
      run_forward(frame);
    if (!backward_ || head_.given_by_backward())
      head_.write(frame, count);
    return {};
  }

private:
  /// Some rows and their logits, in memory that later chunks reuse.
  struct Chunk {
    const ChunkProducts& products;
    std::int64_t first;
    void *x, *dx, *weight; ///< of the product's type
    float* logits;

    std::size_t rows() const { return static_cast<std::size_t>(products.rows); }
  };

  std::size_t classes() const { return head_.classes(); }
  /// Returns the address of row `first` of x or dx.
  std::byte* row_of(const Frame& frame, TensorId id, std::int64_t first) const {
    return frame.data<std::byte>(id) +
           static_cast<std::size_t>(first * shape_.width) * size_of(dtype_);
  }
  std::size_t elements(const Chunk& chunk) const { return chunk.rows() * head_.width(); }
  bool widens() const { return dtype_ != multiplied_; }

  /// Calls work(chunk) for all rows in order, with the chunk's logits.
  template <class Work>
  void for_chunks(const Frame& frame, Work work) const {
    auto* const logits = frame.scratch() + library_bytes();
    auto* const weight = logits + LogitShape::bytes(shape_.chunk(), shape_.classes);
    auto* const wide = weight + weight_bytes();
    if (dtype_ != DType::f32)
      round_weight(head_.weight(frame), weight);
    for (std::int64_t first = 0; first < shape_.rows;) {
      const auto& products =
          shape_.rows - first < shape_.chunk() ? products_.back() : products_.front();
      auto* const x = row_of(frame, node_.inputs[0], first);
      Chunk chunk{products,
                  first,
                  x,
                  backward_ ? row_of(frame, node_.outputs[0], first) : nullptr,
                  dtype_ == DType::f32 ? frame.data<std::byte>(node_.inputs[1]) : weight,
                  reinterpret_cast<float*>(logits)};
      if (widens()) {
        chunk.x = wide;
        chunk.dx = wide + wide_bytes();
        widen_together(dtype_, x, reinterpret_cast<float*>(wide), elements(chunk));
      }
      products.logits.run(chunk.x, chunk.weight, chunk.logits, frame.scratch());
      work(chunk);
      first += products.rows;
    }
  }

  /// Calls work(n, logits) for each row n of a chunk.
  template <class Work>
  void for_rows(const Chunk& chunk, Work work) const {
    parallel_for(chunk.rows(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        work(static_cast<std::size_t>(chunk.first) + i, chunk.logits + i * classes());
    });
  }

  void run_forward(const Frame& frame) {
    const auto labels = head_.labels(frame);
    auto* const totals = head_.totals(frame);
    for_chunks(frame, [&](const Chunk& chunk) {
      for_rows(chunk, [&](std::size_t n, const float* logits) {
        totals[n] = head_.add(n, logits, labels[n]);
      });
    });
  }

  void run_backward(const Frame& frame, double share) {
    auto* const dweight = head_.dweight(frame);
    parallel_for(classes() * head_.width(), elementwise_grain,
                 [&](std::size_t begin, std::size_t end) {
                   std::fill(dweight + begin, dweight + end, 0.0f);
                 });
    for_chunks(frame, [&](const Chunk& chunk) {
      for_rows(chunk, [&](std::size_t n, float* logits) {
        differentiate(frame, n, logits, share);
        if (multiplied_ != DType::f32)
          narrow_in_place(logits);
      });
      multiply(frame, chunk, dweight);
    });
  }

  std::size_t library_bytes() const {
    std::size_t most = 0;
    for (const auto& products : products_)
      most = std::max(most, products.scratchpad_bytes());
    return most;
  }
  std::size_t wide_bytes() const { return LogitShape::bytes(shape_.chunk(), shape_.width); }
  /// Bytes of the weight's copy, which is rounded to the type of x.
  std::size_t weight_bytes() const {
    return aligned(classes() * head_.width() * size_of(multiplied_));
  }
  void round_weight(const float* weight, std::byte* rounded) const {
    const auto count = classes() * head_.width();
    if (!widens())
      return narrow_together(dtype_, weight, rounded, count);
    auto* const values = reinterpret_cast<float*>(rounded);
    parallel_for(count, elementwise_grain, [&](std::size_t begin, std::size_t end) {
      std::copy(weight + begin, weight + end, values + begin);
    });
    round_together(dtype_, values, count);
  }

  /// Replaces a row's logits by their gradients.
  void differentiate(const Frame& frame, std::size_t n, float* logits, double share) {
    const auto label = head_.labels(frame)[n];
    const float total =
        head_.given_by_backward() ? head_.add(n, logits, label) : head_.totals_of_forward(frame)[n];
    if (label < 0) {
      std::fill_n(logits, classes(), 0.0f);
      return;
    }
    kernels().softmax_gradient(logits, classes(), total, head_.spread(), static_cast<float>(share));
    logits[label] -= head_.of_label(share);
  }

  /// Casts a row's gradients down into the first half of their memory.
  void narrow_in_place(float* row) const {
    constexpr std::size_t most = 1024;
    float piece[most];
    auto* const narrowed = reinterpret_cast<std::byte*>(row);
    for (std::size_t at = 0; at < classes(); at += most) {
      const auto count = std::min(most, classes() - at);
      std::copy_n(row + at, count, piece);
      narrow(multiplied_, piece, narrowed + at * size_of(multiplied_), count);
    }
  }

  void multiply(const Frame& frame, const Chunk& chunk, float* dweight) const {
    chunk.products.data->run(chunk.logits, chunk.weight, chunk.dx, frame.scratch());
    if (widens())
      narrow_together(dtype_, static_cast<const float*>(chunk.dx),
                      row_of(frame, node_.outputs[0], chunk.first), elements(chunk));
    chunk.products.weights->run(chunk.logits, chunk.x, dweight, frame.scratch());
  }

  Node node_;
  bool backward_;
  HeadLoss head_;
  DType dtype_, multiplied_; ///< of x, and of the products' operands
  LogitShape shape_{};
  std::vector<ChunkProducts> products_;
};

} // namespace

Result<StepPtr> lower_linear_cross_entropy(Lowering& lowering, const Node& node) {
  const bool backward = node.op == Op::linear_cross_entropy_backward;
  if (has_head_tiles(lowering, node))
    return head_by_tiles(lowering, node, backward);
  return std::make_unique<LinearCrossEntropy>(lowering, node, backward);
}

Result<StepPtr> lower_linear_cross_entropy_backward(Lowering& lowering, const Node& node) {
  return lower_linear_cross_entropy(lowering, node);
}

} // namespace troupe::cpu
