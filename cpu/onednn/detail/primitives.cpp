#include "cpu/onednn/detail/primitives.hpp"

#include "cpu/parallel.hpp"

#include <array>
#include <stdexcept>

namespace troupe::cpu {

namespace {

using Descriptor = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;

constexpr auto algorithm = dnnl::algorithm::convolution_direct;

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

struct ConvolutionDescriptors {
  Descriptor x, weights, y;
  dnnl::memory::dims strides, padding;

  ConvolutionDescriptors(const ConvolutionProblem& p, const Descriptor* given, DType weight_type)
      : x{{p.batch, p.in, p.height, p.width}, data_type(p.activations), Tag::nhwc},
        weights{
            given
                ? *given
                : Descriptor{{p.out, p.in, p.kernel, p.kernel}, data_type(weight_type), Tag::any}},
        y{{p.batch, p.out, p.out_height, p.out_width}, data_type(p.activations), Tag::nhwc},
        strides{p.stride, p.stride}, padding{p.padding, p.padding} {}
};

/// Reads the residual in place: its layout is y's. An addition in place runs in the library's
/// faster kernels for 1x1 convolutions.
dnnl::primitive_attr attributes(const Epilogue& epilogue, const Descriptor& y) {
  auto attr = attributes();
  dnnl::post_ops ops;
  if (epilogue.add && epilogue.in_place)
    ops.append_sum(1.0f);
  else if (epilogue.add)
    ops.append_binary(dnnl::algorithm::binary_add, y);
  if (epilogue.relu)
#if DNNL_VERSION_MAJOR >= 3
    ops.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
#else
    ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
#endif
  attr.set_post_ops(ops);
  return attr;
}

/// Describes a primitive of class P with these operands.
template <class P, class... Operands>
typename P::primitive_desc describe_primitive(const Library& library,
                                              const dnnl::primitive_attr& attr,
                                              const Operands&... operands) {
#if DNNL_VERSION_MAJOR >= 3
  return {library.engine, operands..., attr};
#else
  return {typename P::desc{operands...}, attr, library.engine};
#endif
}

/// Describes a backward primitive; `forward` describes the forward one.
template <class P, class Forward, class... Operands>
typename P::primitive_desc describe_backward(const Library& library, const Forward& forward,
                                             const Operands&... operands) {
#if DNNL_VERSION_MAJOR >= 3
  return {library.engine, operands..., forward, attributes()};
#else
  return {typename P::desc{operands...}, attributes(), library.engine, forward};
#endif
}

dnnl::convolution_forward::primitive_desc describe_forward(const Library& library,
                                                           const ConvolutionDescriptors& d) {
  return describe_primitive<dnnl::convolution_forward>(
      library, attributes(), dnnl::prop_kind::forward_training, algorithm, d.x, d.weights, d.y,
      d.strides, d.padding, d.padding);
}

/// The library requires a forward primitive for a backward one; the layout of its weights does not
/// matter.
dnnl::convolution_forward::primitive_desc hint(const Library& library,
                                               const ConvolutionProblem& problem) {
  return describe_forward(library, {problem, nullptr, problem.activations});
}

} // namespace

Primitive::Primitive(const Library& library, const dnnl::primitive& primitive,
                     const dnnl::primitive_desc_base& description,
                     std::vector<std::pair<int, Descriptor>> operands)
    : library_{library}, primitive_{primitive}, operands_{std::move(operands)},
      scratchpad_{description.scratchpad_desc()},
      implementation_{description.impl_info_str()}, threads_{threads()} {}

void Primitive::run(std::span<const Operand> operands, void* scratchpad) const {
  if (threads_ > 1 && inside_team())
    throw std::logic_error{implementation_ +
                           " starts threads itself, but runs inside a thread team"};
  std::array<dnnl_exec_arg_t, 8> arguments;
  std::array<dnnl::memory, 8> memories;
  std::size_t count = 0;
  const auto add = [&](int argument, const Descriptor& descriptor, void* data) {
    memories[count] = dnnl::memory{descriptor, library_.engine, data};
    arguments[count] = {argument, memories[count].get()};
    ++count;
  };
  for (const auto& operand : operands)
    add(operand.argument, description(operand.argument), operand.data);
  if (scratchpad_bytes() > 0)
    add(DNNL_ARG_SCRATCHPAD, scratchpad_, scratchpad);
  dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive_.get(), library_.stream.get(),
                                                 static_cast<int>(count), arguments.data()),
                          "oneDNN could not run a primitive");
}

const Descriptor& Primitive::description(int argument) const {
  for (const auto& [known, descriptor] : operands_)
    if (known == argument)
      return descriptor;
  throw dnnl::error{dnnl_invalid_arguments, "a primitive has no such operand"};
}

dnnl::memory::data_type data_type(DType dtype) {
  switch (dtype) {
  case DType::bf16:
    return dnnl::memory::data_type::bf16;
  case DType::f16:
    return dnnl::memory::data_type::f16;
  case DType::i32:
    return dnnl::memory::data_type::s32;
  case DType::u8:
    return dnnl::memory::data_type::u8;
  default:
    return dnnl::memory::data_type::f32;
  }
}

Descriptor plain_weights(const Shape& shape, DType dtype) {
  return {dnnl::memory::dims(shape.dims.begin(), shape.dims.end()), data_type(dtype),
          shape.rank() == 4 ? Tag::oihw : Tag::oi};
}

bool is_f32(const Descriptor& description) {
#if DNNL_VERSION_MAJOR >= 3
  return description.get_data_type() == dnnl::memory::data_type::f32;
#else
  return description.data_type() == dnnl::memory::data_type::f32;
#endif
}

BlockedLayout layout_of(const Descriptor& description) {
#if DNNL_VERSION_MAJOR >= 3
  const auto indices = description.get_inner_idxs(), sizes = description.get_inner_blks();
  BlockedLayout layout{.strides = description.get_strides(), .inner = {}};
  for (std::size_t i = 0; i < indices.size(); ++i)
    layout.inner.push_back({indices[i], sizes[i]});
#else
  const auto& blocking = description.data.format_desc.blocking;
  BlockedLayout layout;
  layout.strides.assign(blocking.strides, blocking.strides + description.data.ndims);
  for (int i = 0; i < blocking.inner_nblks; ++i)
    layout.inner.push_back({blocking.inner_idxs[i], blocking.inner_blks[i]});
#endif
  return layout;
}

std::optional<Primitive> convolution_forward(const Library& library,
                                             const ConvolutionProblem& problem,
                                             const Descriptor* weights,
                                             const Epilogue& epilogue) try {
  const ConvolutionDescriptors d{problem, weights, problem.activations};
  const Descriptor bias{{problem.out}, dnnl::memory::data_type::f32, Tag::a};
  const auto pd = epilogue.bias
                      ? describe_primitive<dnnl::convolution_forward>(
                            library, attributes(epilogue, d.y), dnnl::prop_kind::forward_inference,
                            algorithm, d.x, d.weights, bias, d.y, d.strides, d.padding, d.padding)
                      : describe_forward(library, d);
  return Primitive{library,
                   dnnl::convolution_forward{pd},
                   pd,
                   {{DNNL_ARG_SRC, pd.src_desc()},
                    {DNNL_ARG_WEIGHTS, pd.weights_desc()},
                    {DNNL_ARG_BIAS, bias},
                    {DNNL_ARG_DST, pd.dst_desc()},
                    {residual_argument, d.y}}};
} catch (const dnnl::error&) {
  return std::nullopt;
}

std::optional<Primitive> convolution_backward_data(const Library& library,
                                                   const ConvolutionProblem& problem,
                                                   const Descriptor* weights) try {
  const ConvolutionDescriptors d{problem, weights, problem.activations};
  const auto pd = describe_backward<dnnl::convolution_backward_data>(
      library, hint(library, problem), algorithm, d.x, d.weights, d.y, d.strides, d.padding,
      d.padding);
  return Primitive{library,
                   dnnl::convolution_backward_data{pd},
                   pd,
                   {{DNNL_ARG_DIFF_SRC, pd.diff_src_desc()},
                    {DNNL_ARG_WEIGHTS, pd.weights_desc()},
                    {DNNL_ARG_DIFF_DST, pd.diff_dst_desc()}}};
} catch (const dnnl::error&) {
  return std::nullopt;
}

std::optional<Primitive> convolution_backward_weights(const Library& library,
                                                      const ConvolutionProblem& problem,
                                                      const Descriptor* weights) try {
  const ConvolutionDescriptors d{problem, weights, DType::f32};
  const auto pd = describe_backward<dnnl::convolution_backward_weights>(
      library, hint(library, problem), algorithm, d.x, d.weights, d.y, d.strides, d.padding,
      d.padding);
  return Primitive{library,
                   dnnl::convolution_backward_weights{pd},
                   pd,
                   {{DNNL_ARG_SRC, pd.src_desc()},
                    {DNNL_ARG_DIFF_WEIGHTS, pd.diff_weights_desc()},
                    {DNNL_ARG_DIFF_DST, pd.diff_dst_desc()}}};
} catch (const dnnl::error&) {
  return std::nullopt;
}

Descriptor describe(const Matrix& m) {
  if (m.packed)
    return {{m.rows, m.columns}, data_type(m.dtype), Tag::any};
  const dnnl::memory::dims strides = m.transposed ? dnnl::memory::dims{1, m.row_distance()}
                                                  : dnnl::memory::dims{m.row_distance(), 1};
  return {{m.rows, m.columns}, data_type(m.dtype), strides};
}

Primitive matmul(const Library& library, const Matrix& a, const Matrix& b, const Matrix& c,
                 const ProductEnd& end) {
  auto attr = attributes();
  const Descriptor bias =
      end.bias ? Descriptor{{1, c.columns}, dnnl::memory::data_type::f32, Tag::ab} : Descriptor{};
  if (end.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attr.set_post_ops(sum);
  }
  const auto pd =
      describe_primitive<dnnl::matmul>(library, attr, describe(a), describe(b), bias, describe(c));
  return {library,
          dnnl::matmul{pd},
          pd,
          {{DNNL_ARG_SRC, pd.src_desc()},
           {DNNL_ARG_WEIGHTS, pd.weights_desc()},
           {DNNL_ARG_BIAS, bias},
           {DNNL_ARG_DST, pd.dst_desc()}}};
}

Primitive weight_gradient(const Library& library, std::int64_t rows, std::int64_t in,
                          std::int64_t out, DType dtype) {
  const Descriptor x{{rows, in}, data_type(dtype), Tag::ab};
  const Descriptor weights{{out, in}, data_type(dtype), Tag::ab};
  const Descriptor dweights{{out, in}, dnnl::memory::data_type::f32, Tag::ab};
  const Descriptor y{{rows, out}, data_type(dtype), Tag::ab};
  const auto forward = describe_primitive<dnnl::inner_product_forward>(
      library, dnnl::primitive_attr{}, dnnl::prop_kind::forward_training, x, weights, y);
  const auto pd =
      describe_backward<dnnl::inner_product_backward_weights>(library, forward, x, dweights, y);
  return {library,
          dnnl::inner_product_backward_weights{pd},
          pd,
          {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_WEIGHTS, dweights}, {DNNL_ARG_DIFF_DST, y}}};
}

Primitive reorder(const Library& library, const Descriptor& from, const Descriptor& to) {
  const dnnl::reorder::primitive_desc pd{library.engine, from, library.engine, to, attributes()};
  Primitive made{library, dnnl::reorder{pd}, pd, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}};
  made.allow_in_team();
  return made;
}

} // namespace troupe::cpu
