#include "autocast_rules.hpp"

#include <array>

namespace troupe::nn {

namespace {

using Rule = AutocastRule;

constexpr std::array<AutocastEntry, 16> table = {{
    {Op::conv2d, Rule::lower_precision, "conv2d"},
    // Its statistics, scale and shift are f32 always, as in PyTorch.
    {Op::batch_norm, Rule::follow, "batch_norm"},
    {Op::batch_norm_finalize, Rule::given, ""},
    {Op::scale_shift, Rule::given, ""},
    {Op::relu, Rule::follow, "relu"},
    // PyTorch has it on no list, but promotes the narrower input, which is the same. Its in-place
    // `y += x` cannot, and keeps y's type.
    {Op::add, Rule::widest, "add"},
    {Op::max_pool, Rule::follow, "max_pool2d"},
    {Op::avg_pool, Rule::follow, "avg_pool2d"},
    {Op::subsample_pad, Rule::follow, "pad"},
    {Op::flatten, Rule::follow, "flatten"},
    // Both halves of linear.
    {Op::matmul, Rule::lower_precision, "linear"},
    {Op::bias, Rule::lower_precision, "linear"},
    {Op::cast, Rule::given, "to"},
    // All of it, as documented; inside, PyTorch 2.14 on CUDA leaves log_softmax in f16.
    {Op::softmax_cross_entropy, Rule::fp32, "cross_entropy"},
    {Op::mean_squared_error, Rule::fp32, "mse_loss"},
    {Op::count_correct, Rule::fp32, ""},
}};

constexpr bool has_every_forward_op() {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].op != static_cast<Op>(i))
      return false;
  return table.size() == static_cast<std::size_t>(Op::count_correct) + 1;
}
static_assert(has_every_forward_op());

} // namespace

std::span<const AutocastEntry> autocast_table() {
  return table;
}

AutocastRule autocast_rule(Op forward) {
  return table[static_cast<std::size_t>(forward)].rule;
}

} // namespace troupe::nn
