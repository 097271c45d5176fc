#include "cpu/onednn/detail/winograd.hpp"

#include "core/fail.hpp"
#include "cpu/onednn/detail/convert.hpp"
#include "cpu/onednn/detail/finish_convolution.hpp"
#include "cpu/onednn/detail/slice_fusion.hpp"
#include "cpu/onednn/detail/slices.hpp"

namespace troupe::cpu {

namespace {

/// Largest number of input channels times output channels. For each such pair, 36 values are read
/// for every block of tiles, and every thread holds 36 for the weights' gradient.
constexpr std::int64_t most_weights = 256 * 256;

struct TileSizes {
  WinogradShape shape;
  std::size_t batch, x, y; ///< elements of one image
  std::size_t tiles;       ///< of one image
  std::size_t block_bytes, transformed_bytes;

  /// From `in` to `out` channels; swapped for a gradient.
  TileSizes(const ConvolutionProblem& p, std::int64_t in, std::int64_t out)
      : shape{static_cast<std::size_t>(p.height), static_cast<std::size_t>(p.width),
              static_cast<std::size_t>(in), static_cast<std::size_t>(out)},
        batch{static_cast<std::size_t>(p.batch)}, x{shape.height * shape.width * shape.in},
        y{shape.height * shape.width * shape.out}, tiles{(shape.height + 3) / 4 *
                                                         ((shape.width + 3) / 4)} {
    // Zeros, and for each point two matrices, each with a cache line after it.
    const std::size_t channels = shape.in + shape.out;
    block_bytes = aligned((channels + winograd_points * (winograd_block * channels + 2 * 16)) *
                          sizeof(float));
    transformed_bytes = aligned(winograd_points * shape.in * shape.out * sizeof(float));
  }
};

/// Slices are whole images, of about one block of tiles.
Slicing slice_tiles(const TileSizes& sizes, int threads) {
  return slice_batch(static_cast<std::int64_t>(sizes.batch),
                     static_cast<std::int64_t>(winograd_block / sizes.tiles), threads);
}

/// y = x * weights, or dx = dy * rotated weights.
class WinogradActivation final : public Step, public SliceProducer {
public:
  WinogradActivation(const Node& node, DType stored, const TileSizes& sizes, int threads,
                     const ParameterCopy* weights, bool turned, const Epilogue& epilogue)
      : node_{node}, stored_{stored}, widen_{stored != DType::f32}, sizes_{sizes},
        slicing_{slice_tiles(sizes, threads)}, weights_{weights}, turned_{turned},
        finish_{node, stored, epilogue, sizes.shape.out} {
    const auto images = static_cast<std::size_t>(slicing_.images);
    x_bytes_ = widen_ ? aligned(images * sizes.x * sizeof(float)) : 0;
    y_bytes_ = widen_ ? aligned(images * sizes.y * sizeof(float)) : 0;
  }

  bool writes_slices() const override { return slicing_.side_by_side; }

  std::size_t scratch_bytes() const override {
    return sizes_.transformed_bytes + team() * sizes_.block_bytes +
           slicing_.workers() * (x_bytes_ + y_bytes_);
  }

  Status run(const Frame& frame) override {
    auto* const u = reinterpret_cast<float*>(frame.scratch());
    transform_weights(frame, u);
    const auto images = static_cast<std::size_t>(slicing_.images);
    begin_consumers(frame, slicing_.workers());
    for_slices(slicing_, [&](std::int64_t slice, std::size_t worker) {
      const std::size_t first = static_cast<std::size_t>(slice) * images;
      auto* const x = frame.data<std::byte>(node_.inputs[0]) + first * sizes_.x * size_of(stored_);
      auto* const y = frame.data<std::byte>(node_.outputs[0]) + first * sizes_.y * size_of(stored_);
      if (widen_)
        convolve_wide(frame, u, x, y, worker);
      else
        convolve(frame, u, reinterpret_cast<float*>(x), reinterpret_cast<float*>(y), worker);
      finish_.run(frame, slicing_, first * sizes_.y, images * sizes_.y);
      hand_on(frame, worker, first * sizes_.y, (first + images) * sizes_.y);
    });
    return {};
  }

private:
  std::size_t team() const { return static_cast<std::size_t>(slicing_.threads); }

  void transform_weights(const Frame& frame, float* u) const {
    const auto* const weights = weights_ ? reinterpret_cast<const float*>(weights_->data())
                                         : frame.data<float>(node_.inputs[1]);
    parallel_for(sizes_.shape.in, 16, [&](std::size_t begin, std::size_t end) {
      kernels().winograd_weights(sizes_.shape, weights, turned_, u, begin, end);
    });
  }

  /// Convolves a slice on its worker, or the whole batch with the whole team.
  void convolve(const Frame& frame, const float* u, const float* x, float* y,
                std::size_t worker) const {
    const std::size_t tiles = static_cast<std::size_t>(slicing_.images) * sizes_.tiles;
    const auto part = [&](std::size_t who, std::size_t begin, std::size_t end) {
      auto* const scratch = frame.scratch() + sizes_.transformed_bytes + who * sizes_.block_bytes;
      kernels().winograd_convolve(sizes_.shape, x, u, y, reinterpret_cast<float*>(scratch), begin,
                                  end);
    };
    if (slicing_.side_by_side)
      return part(worker, 0, tiles);
    parallel_parts(team(), [&](std::size_t who, std::size_t parts) {
      part(who, tiles * who / parts, tiles * (who + 1) / parts);
    });
  }

  void convolve_wide(const Frame& frame, const float* u, const std::byte* x, std::byte* y,
                     std::size_t worker) const {
    const auto images = static_cast<std::size_t>(slicing_.images);
    auto* const wide = frame.scratch() + sizes_.transformed_bytes + team() * sizes_.block_bytes +
                       worker * (x_bytes_ + y_bytes_);
    auto* const wide_x = reinterpret_cast<float*>(wide);
    auto* const wide_y = reinterpret_cast<float*>(wide + x_bytes_);
    widen_slice(slicing_, stored_, x, wide_x, images * sizes_.x);
    convolve(frame, u, wide_x, wide_y, worker);
    narrow_slice(slicing_, stored_, wide_y, y, images * sizes_.y);
  }

  Node node_;
  DType stored_; ///< of the activations
  bool widen_;
  TileSizes sizes_;
  Slicing slicing_;
  const ParameterCopy* weights_;
  bool turned_;
  FinishConvolution finish_;
  std::size_t x_bytes_, y_bytes_;
};

/// Computes dweight from dy and x. Each thread sums the transformed products of its part of the
/// tiles; then these sums are added up and transformed back.
class WinogradWeights final : public Step {
public:
  WinogradWeights(const Node& node, DType stored, const TileSizes& sizes, int threads,
                  std::optional<Primitive> store)
      : node_{node}, sizes_{sizes}, x_{stored, stored != DType::f32, sizes.batch * sizes.x},
        y_{stored, stored != DType::f32, sizes.batch * sizes.y},
        parts_{static_cast<std::size_t>(threads)}, store_{std::move(store)} {
    result_bytes_ = store_ ? aligned(9 * sizes.shape.in * sizes.shape.out * sizeof(float)) : 0;
    library_bytes_ = store_ ? aligned(store_->scratchpad_bytes()) : 0;
  }

  std::size_t scratch_bytes() const override {
    return parts_ * part_bytes() + x_.bytes() + y_.bytes() + result_bytes_ + library_bytes_;
  }

  bool by_library_threads() const override { return store_.has_value(); }

  Status run(const Frame& frame) override {
    std::byte* const wide = frame.scratch() + parts_ * part_bytes();
    const auto* const dy = reinterpret_cast<const float*>(
        y_.read(frame.data<std::byte>(node_.inputs[0]), wide + x_.bytes()));
    const auto* const x =
        reinterpret_cast<const float*>(x_.read(frame.data<std::byte>(node_.inputs[1]), wide));
    const std::size_t tiles = sizes_.batch * sizes_.tiles;
    // Every part has the same number of chunks; the last one may be empty.
    const std::size_t pieces = tiles / parts_ / piece_tiles + 1;
    parallel_lanes(parts_, parts_ * pieces, [&](std::size_t piece, std::size_t part) {
      float* const sums = sums_of(frame, part);
      if (piece == part * pieces)
        std::fill_n(sums, sum_count(), 0.0f);
      const std::size_t end = tiles * (part + 1) / parts_;
      const std::size_t first = tiles * part / parts_ + (piece - part * pieces) * piece_tiles;
      kernels().winograd_gradient(sizes_.shape, x, dy, sums,
                                  sums + sizes_.transformed_bytes / sizeof(float),
                                  std::min(first, end), std::min(first + piece_tiles, end));
    });
    for (std::size_t part = 1; part < parts_; ++part)
      parallel_for(sum_count(), elementwise_grain, [&](std::size_t begin, std::size_t end) {
        kernels().add(sums_of(frame, 0) + begin, sums_of(frame, part) + begin, end - begin);
      });
    std::byte* const result = wide + x_.bytes() + y_.bytes();
    auto* const gradient = frame.data<std::byte>(node_.outputs[0]);
    auto* const written = reinterpret_cast<float*>(store_ ? result : gradient);
    parallel_for(sizes_.shape.in, 16, [&](std::size_t begin, std::size_t end) {
      kernels().winograd_weight_gradient(sizes_.shape, sums_of(frame, 0), written, begin, end);
    });
    if (store_)
      store_->run({{DNNL_ARG_FROM, result}, {DNNL_ARG_TO, gradient}}, result + result_bytes_);
    return {};
  }

private:
  /// Whole blocks, so that the division into chunks does not change the sums.
  static constexpr std::size_t piece_tiles = 2 * winograd_block;

  std::size_t part_bytes() const { return sizes_.transformed_bytes + sizes_.block_bytes; }
  std::size_t sum_count() const { return winograd_points * sizes_.shape.in * sizes_.shape.out; }
  float* sums_of(const Frame& frame, std::size_t part) const {
    return reinterpret_cast<float*>(frame.scratch() + part * part_bytes());
  }

  Node node_;
  TileSizes sizes_;
  ReadTensor x_, y_; ///< y_: dy
  std::size_t parts_;
  std::optional<Primitive> store_; ///< if gradients are stored in another layout
  std::size_t result_bytes_, library_bytes_;
};

} // namespace

bool suits_winograd(const ConvolutionProblem& p) {
  return p.kernel == 3 && p.stride == 1 && p.padding == 1 && p.in % 16 == 0 && p.out % 16 == 0 &&
         p.in * p.out <= most_weights && p.activations == DType::f32;
}

dnnl::memory::desc winograd_weights(const ConvolutionProblem& p, bool in_rows) {
  const auto in_stride = in_rows ? p.out : 1, out_stride = in_rows ? 1 : p.in;
  const auto plane = p.in * p.out;
  return {{p.out, p.in, 3, 3},
          dnnl::memory::data_type::f32,
          dnnl::memory::dims{out_stride, in_stride, 3 * plane, plane}};
}

Result<StepPtr> lower_winograd(Lowering& lowering, const Node& node, Direction direction) {
  const auto problem = convolution_problem(lowering.graph, node, direction);
  const DType stored = problem.activations;
  const int threads = lowering.options.threads;
  StepPtr step;
  if (direction == Direction::backward_weight) {
    const auto& wanted = lowering.stored(lowering.graph[node.outputs[0]].of);
    const auto given = winograd_weights(problem);
    std::optional<Primitive> store;
    if (given != wanted)
      store = reorder(lowering.library, given, wanted);
    step = std::make_unique<WinogradWeights>(
        node, stored, TileSizes{problem, problem.in, problem.out}, threads, std::move(store));
  } else {
    const bool forward = direction == Direction::forward;
    TROUPE_TRY(const auto copy,
               lowering.copy_of(node.inputs[1], winograd_weights(problem, forward), stored));
    const auto sizes = forward ? TileSizes{problem, problem.in, problem.out}
                               : TileSizes{problem, problem.out, problem.in};
    step = std::make_unique<WinogradActivation>(node, stored, sizes, threads, copy, !forward,
                                                forward ? epilogue_of(lowering.options.memory, node)
                                                        : Epilogue{});
  }
  step->name = std::string{to_string(node.op)} + " winograd";
  step->operations = problem.operations();
  return step;
}

} // namespace troupe::cpu
