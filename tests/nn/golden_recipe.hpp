/// Inputs and parameters of the golden runs, the same numbers as tests/golden/golden_recipe.py
/// makes, and what PyTorch made of them.
#pragma once

#include "core/graph/precision.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::nn::test {

/// In [-1, 1), by name and position.
std::vector<float> golden_uniform(const std::string& name, std::size_t count);
/// Parameters, and statistics as models begin with them.
std::vector<float> golden_parameter(const std::string& name, const Shape& shape);
std::vector<std::int32_t> golden_labels(std::int64_t count, std::int64_t classes);

/// A file of tests/golden/.
nlohmann::json read_golden(const std::string& file);
/// The elements that a digest keeps of a tensor.
std::vector<float> golden_samples(const std::vector<float>& values);

/// |got - expected| / |expected| in the 2-norm.
double distance(const std::vector<float>& got, const std::vector<float>& expected);

/// How far from the truth an engine may be, in the 2-norm over everything: three times (in 16 bits
/// one and a half times, or the bound would say nothing) what PyTorch's own run in that precision
/// is, plus the rounding of a few operations.
double pytorch_factor(Precision precision);
double rounding_slack(Precision precision);

} // namespace troupe::nn::test
