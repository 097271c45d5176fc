#include "cpu/onednn/detail/products.hpp"

#include "core/fail.hpp"
#include "cpu/onednn/detail/convert.hpp"

namespace troupe::cpu {

namespace {

/// Slices of fully connected layers take a quarter of a MiB, so that consumers find them in a
/// core's cache next to the weights. They have enough rows that reading weights does not dominate.
/// For f32, all threads together have a faster way to multiply (MatrixProduct).
Slicing slice_rows(const ProductProblem& p, int threads) {
  constexpr std::int64_t bytes = 256 << 10, default_rows = 64, least_rows = 16;
  const auto row_bytes = (p.in + p.out) * static_cast<std::int64_t>(size_of(p.stored));
  const auto slicing = slice_batch(p.images, std::max(bytes / row_bytes, default_rows), threads);
  const bool worth_it = p.computed != DType::f32 && slicing.images >= least_rows;
  return worth_it ? slicing : Slicing{p.images, 1, false};
}

Slicing slice(const ProductProblem& p, int threads) {
  if (p.rows == 1)
    return slice_rows(p, threads);
  return slice_batch(p.images, static_cast<std::size_t>(p.rows * (p.in + p.out)) * sizeof(float),
                     static_cast<std::size_t>(p.in * p.out) * sizeof(float), threads);
}

/// The parameter as the second operand of a product forward, or backward.
Matrix weight_of(const ProductProblem& p, bool forward, DType dtype) {
  return {forward ? p.in : p.out, forward ? p.out : p.in, forward, dtype};
}

/// Whether the product reads packed weights. Those of f32 are read as stored, without a copy.
bool packs(const Lowering& lowering, const Node& node, const ProductProblem& p) {
  const auto parameter = node.inputs[1];
  return p.computed == DType::bf16 &&
         lowering.stored(parameter) == plain_weights(lowering.graph[parameter].shape, DType::f32);
}

/// Returns the product of one slice, made for the threads that will run it.
MatrixProduct slice_product(const Lowering& lowering, const Node& node, const ProductProblem& p,
                            const Slicing& slicing, bool forward) {
  const ThreadScope scope{slicing.inner_threads(lowering.options.threads)};
  const std::int64_t rows = slicing.images * p.rows;
  auto weight = weight_of(p, forward, p.computed);
  weight.packed = packs(lowering, node, p);
  return {lowering.library,
          {rows, weight.rows, false, p.computed},
          weight,
          {rows, weight.columns, false, p.computed},
          slicing.side_by_side ? ProductTeam::alone : ProductTeam::together,
          {.bias = p.bias}};
}

/// Returns a copy in the type of the product, if that is not the parameter's.
Result<const ParameterCopy*> plain_copy(Lowering& lowering, const Node& node,
                                        const ProductProblem& p) {
  const auto parameter = node.inputs[1];
  return lowering.copy_of(parameter, plain_weights(lowering.graph[parameter].shape, p.computed),
                          p.stored);
}

std::size_t bytes_of(std::int64_t elements, DType dtype) {
  return static_cast<std::size_t>(elements) * size_of(dtype);
}

template <class T>
void gather_images(const PixelGrid& grid, std::int64_t images, const std::byte* from,
                   std::byte* to) {
  const std::int64_t big = grid.height * grid.width * grid.channels;
  const std::int64_t small = grid.out_height() * grid.out_width() * grid.channels;
  for (std::int64_t i = 0; i < images; ++i)
    gather_pixels(grid, reinterpret_cast<const T*>(from) + i * big,
                  reinterpret_cast<T*>(to) + i * small);
}

template <class T>
void scatter_images(const PixelGrid& grid, std::int64_t images, const std::byte* from,
                    std::byte* to) {
  const std::int64_t big = grid.height * grid.width * grid.channels;
  const std::int64_t small = grid.out_height() * grid.out_width() * grid.channels;
  for (std::int64_t i = 0; i < images; ++i)
    scatter_pixels(grid, reinterpret_cast<const T*>(from) + i * small,
                   reinterpret_cast<T*>(to) + i * big);
}

void gather_images(const ProductProblem& p, std::int64_t images, const std::byte* from,
                   std::byte* to) {
  with_element(p.stored, [&]<class T>(T) { gather_images<T>(*p.grid, images, from, to); });
}

} // namespace

ProductBySlices::ProductBySlices(const Lowering& lowering, const Node& node,
                                 const ProductProblem& problem, Direction direction)
    : node_{node}, problem_{problem}, slicing_{slice(problem, lowering.options.threads)},
      threads_{lowering.options.threads}, product_{slice_product(lowering, node, problem, slicing_,
                                                                 direction == Direction::forward)},
      library_bytes_{aligned(product_.scratchpad_bytes())} {
  operations = problem.operations();
}

ProductForward::ProductForward(const Lowering& lowering, const Node& node,
                               const ProductProblem& problem)
    : ProductBySlices{lowering, node, problem, Direction::forward} {
  // Gathered pixels, then their f32 values; each has a place only if needed.
  if (problem.grid)
    x_bytes_ += aligned(bytes_of(rows_of_slice() * problem.in, problem.stored));
  if (problem.widens())
    x_bytes_ += aligned(bytes_of(rows_of_slice() * problem.in, problem.computed));
  y_bytes_ =
      problem.widens() ? aligned(bytes_of(rows_of_slice() * problem.out, problem.computed)) : 0;
  name = "product " + product_.implementation();
}

Status ProductForward::take_weights(Lowering& lowering) {
  if (!packs(lowering, node_, problem_)) {
    TROUPE_TRY(weights_, plain_copy(lowering, node_, problem_));
    return {};
  }
  TROUPE_TRY(weights_,
             lowering.copy_of(node_.inputs[1], describe(weight_of(problem_, true, DType::f32)),
                              product_.packed_layout(), problem_.stored));
  return {};
}

std::size_t ProductForward::scratch_bytes() const {
  return slicing_.workers(threads_) * slice_bytes();
}

Status ProductForward::run(const Frame& frame) {
  auto* const x = frame.data<std::byte>(node_.inputs[0]);
  auto* const y = frame.data<std::byte>(node_.outputs[0]);
  auto* const weights = weights_ ? weights_->data() : frame.data<std::byte>(node_.inputs[1]);
  const auto* const bias = problem_.bias ? frame.data<float>(node_.inputs[2]) : nullptr;
  const std::int64_t rows = rows_of_slice();
  begin_consumers(frame, slicing_.workers(threads_));
  for_slices(slicing_, threads_, [&](std::int64_t index, std::size_t worker) {
    std::byte* const library = frame.scratch() + worker * slice_bytes();
    std::byte* place = library + library_bytes_;
    std::byte* from =
        x + bytes_of(index * slicing_.images * problem_.x_elements(), problem_.stored);
    std::byte* const to = y + bytes_of(index * rows * problem_.out, problem_.stored);
    if (problem_.grid) {
      gather_images(problem_, slicing_.images, from, place);
      from = place;
      place += aligned(bytes_of(rows * problem_.in, problem_.stored));
    }
    const auto written = static_cast<std::size_t>(index * rows * problem_.out);
    const auto next = written + static_cast<std::size_t>(rows * problem_.out);
    if (!problem_.widens()) {
      product_.run(from, weights, to, library, bias);
      hand_on(frame, worker, written, next);
      return;
    }
    auto* const wide_x = reinterpret_cast<float*>(place);
    auto* const wide_y = reinterpret_cast<float*>(library + library_bytes_ + x_bytes_);
    widen_slice(slicing_, problem_.stored, from, wide_x,
                static_cast<std::size_t>(rows * problem_.in));
    product_.run(wide_x, weights, wide_y, library);
    narrow_slice(slicing_, problem_.stored, wide_y, to,
                 static_cast<std::size_t>(rows * problem_.out));
    hand_on(frame, worker, written, next);
  });
  return {};
}

ProductBackwardData::ProductBackwardData(const Lowering& lowering, const Node& node,
                                         const ProductProblem& problem)
    : ProductBySlices{lowering, node, problem, Direction::backward_data} {
  // dy in f32; with a stride, dx in its stored type reuses this place.
  if (problem.widens())
    y_bytes_ = aligned(std::max(bytes_of(rows_of_slice() * problem.out, problem.computed),
                                bytes_of(rows_of_slice() * problem.in, problem.stored)));
  if (problem.widens() || problem.grid)
    x_bytes_ = aligned(bytes_of(rows_of_slice() * problem.in, problem.computed));
  name = "product backward data " + product_.implementation();
}

Status ProductBackwardData::take_weights(Lowering& lowering) {
  if (packs(lowering, node_, problem_)) {
    packing_.emplace(lowering.library, weight_of(problem_, false, DType::f32),
                     product_.packed_layout());
    return {};
  }
  TROUPE_TRY(weights_, plain_copy(lowering, node_, problem_));
  return {};
}

std::size_t ProductBackwardData::packed_bytes() const {
  return packing_ ? packing_->bytes() : 0;
}

std::byte* ProductBackwardData::weights(const Frame& frame) const {
  auto* const parameter = frame.data<std::byte>(node_.inputs[1]);
  if (!packing_)
    return weights_ ? weights_->data() : parameter;
  packing_->run(parameter, frame.scratch());
  return frame.scratch();
}

std::size_t ProductBackwardData::scratch_bytes() const {
  return packed_bytes() + slicing_.workers(threads_) * slice_bytes();
}

Status ProductBackwardData::run(const Frame& frame) {
  auto* const dy = frame.data<std::byte>(node_.inputs[0]);
  auto* const dx = frame.data<std::byte>(node_.outputs[0]);
  auto* const weight = weights(frame);
  const std::int64_t rows = rows_of_slice();
  const auto in_elements = static_cast<std::size_t>(rows * problem_.in);
  const auto out_elements = static_cast<std::size_t>(rows * problem_.out);
  begin_consumers(frame, slicing_.workers(threads_));
  for_slices(slicing_, threads_, [&](std::int64_t index, std::size_t worker) {
    std::byte* const library = frame.scratch() + packed_bytes() + worker * slice_bytes();
    std::byte* from = dy + bytes_of(index * rows * problem_.out, problem_.stored);
    std::byte* const to =
        dx + bytes_of(index * slicing_.images * problem_.x_elements(), problem_.stored);
    std::byte* result = x_bytes_ > 0 ? library + library_bytes_ : to;
    if (problem_.widens()) {
      auto* const wide = reinterpret_cast<float*>(library + library_bytes_ + x_bytes_);
      widen_slice(slicing_, problem_.stored, from, wide, out_elements);
      from = reinterpret_cast<std::byte*>(wide);
    }
    product_.run(from, weight, result, library);
    if (problem_.widens()) {
      std::byte* const narrowed = problem_.grid ? from : to;
      narrow_slice(slicing_, problem_.stored, reinterpret_cast<const float*>(result), narrowed,
                   in_elements);
      result = narrowed;
    }
    if (problem_.grid)
      with_element(problem_.stored, [&]<class T>(T) {
        scatter_images<T>(*problem_.grid, slicing_.images, result, to);
      });
    const auto slice_elements = static_cast<std::size_t>(slicing_.images * problem_.x_elements());
    const auto written = static_cast<std::size_t>(index) * slice_elements;
    hand_on(frame, worker, written, written + slice_elements);
  });
  return {};
}

ProductBackwardWeights::ProductBackwardWeights(const Lowering& lowering, const Node& node,
                                               const ProductProblem& problem)
    : node_{node}, problem_{problem}, product_{[&] {
        const ThreadScope scope{lowering.options.threads};
        const std::int64_t rows = problem.images * problem.rows;
        return MatrixProduct{lowering.library,
                             {problem.out, rows, true, problem.computed},
                             {rows, problem.in, false, problem.computed},
                             {problem.out, problem.in, false, DType::f32}};
      }()} {
  const std::int64_t rows = problem.images * problem.rows;
  library_bytes_ = aligned(product_.scratchpad_bytes());
  x_bytes_ = problem.grid ? aligned(bytes_of(rows * problem.in, problem.stored)) : 0;
  if (problem.widens())
    x_bytes_ += aligned(bytes_of(rows * problem.in, problem.computed));
  y_bytes_ = problem.widens() ? aligned(bytes_of(rows * problem.out, problem.computed)) : 0;
  name = "product backward weights " + product_.implementation();
  operations = problem.operations();
}

std::size_t ProductBackwardWeights::scratch_bytes() const {
  return library_bytes_ + x_bytes_ + y_bytes_;
}

Status ProductBackwardWeights::run(const Frame& frame) {
  auto* dy = frame.data<std::byte>(node_.inputs[0]);
  auto* x = frame.data<std::byte>(node_.inputs[1]);
  auto* const gradient = frame.data<std::byte>(node_.outputs[0]);
  std::byte* const library = frame.scratch();
  std::byte* place = library + library_bytes_;
  const std::int64_t rows = problem_.images * problem_.rows;
  if (problem_.grid) {
    const auto from = bytes_of(problem_.x_elements(), problem_.stored);
    const auto to = bytes_of(problem_.rows * problem_.in, problem_.stored);
    parallel_for(static_cast<std::size_t>(problem_.images), 1,
                 [&](std::size_t begin, std::size_t end) {
                   gather_images(problem_, static_cast<std::int64_t>(end - begin), x + begin * from,
                                 place + begin * to);
                 });
    x = place;
    place += aligned(bytes_of(rows * problem_.in, problem_.stored));
  }
  if (problem_.widens()) {
    auto* const wide_x = reinterpret_cast<float*>(place);
    auto* const wide_y = reinterpret_cast<float*>(library + library_bytes_ + x_bytes_);
    widen_together(problem_.stored, x, wide_x, static_cast<std::size_t>(rows * problem_.in));
    widen_together(problem_.stored, dy, wide_y, static_cast<std::size_t>(rows * problem_.out));
    x = reinterpret_cast<std::byte*>(wide_x);
    dy = reinterpret_cast<std::byte*>(wide_y);
  }
  product_.run(dy, x, gradient, library);
  return {};
}

} // namespace troupe::cpu
