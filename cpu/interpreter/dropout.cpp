#include "core/device/dropout_math.hpp"
#include "cpu/interpreter/ops.hpp"

namespace troupe::cpu {

Status dropout(const Operands& operands) {
  const auto rule = dropout_rule(operands.attributes<DropoutAttributes>());
  auto y = operands.read(0);
  const auto words = operands.read(1);
  const std::vector<std::int32_t> keys(words.begin(), words.end());
  const auto elements = y.size() / static_cast<std::size_t>(operands.input(1).shape[0]);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto key = dropout_key(keys.data(), i / elements);
    y[i] = dropout_word(rule, key, i % elements) < rule.bound ? 0 : y[i] * double{rule.scale};
  }
  operands.write(0, y);
  return {};
}

} // namespace troupe::cpu
