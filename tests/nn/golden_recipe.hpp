/// Inputs and parameters of the golden runs, equal to the numbers of tests/golden/golden_recipe.py,
/// and PyTorch's results.
#pragma once

#include "core/graph/precision.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::nn::test {

/// Returns values in [-1, 1) that depend on name and position.
std::vector<float> golden_uniform(const std::string& name, std::size_t count);
/// Returns parameters, and statistics at their initial values.
std::vector<float> golden_parameter(const std::string& name, const Shape& shape);
std::vector<std::int32_t> golden_labels(std::int64_t count, std::int64_t classes);

/// Reads a file of tests/golden/.
nlohmann::json read_golden(const std::string& file);
/// Returns the elements of a tensor that a digest contains.
std::vector<float> golden_samples(const std::vector<float>& values);

/// Returns |got - expected| / |expected| in the 2-norm.
double distance(const std::vector<float>& got, const std::vector<float>& expected);

/// Factor and slack of an engine's largest distance from the reference, in the 2-norm over
/// everything. The limit is pytorch_factor() times the distance of PyTorch's run in that precision,
/// plus rounding_slack(), the rounding of a few operations. The factor is 3, in 16 bits 1.5: a
/// larger one would make the limit meaningless.
double pytorch_factor(Precision precision);
double rounding_slack(Precision precision);

} // namespace troupe::nn::test
