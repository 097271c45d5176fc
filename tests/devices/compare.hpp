/// Tolerances for comparisons with reference results.
#pragma once

#include "core/graph/precision.hpp"
#include "tests/devices/graph_runner.hpp"

namespace troupe::testing {

/// Requires |value - expected| <= 1e-5 + relative * the tensor's largest value: the rounding error
/// of a sum is as large as its largest terms.
void require_close(const Values& values, const Values& expected, float relative);

/// Requires that the norm of the difference is at most `relative` of the larger of two norms: that
/// of the expected tensor, and a quarter of the largest tensor's, because some gradients are zero
/// but for rounding. For reduced precisions, where one rounding changes the result of a relu or a
/// maximum here and there.
void require_close_on_average(const Values& values, const Values& expected, float relative);

/// Returns the machine epsilon of the type in which a precision computes products: twice the
/// largest relative error of one rounding.
float epsilon(Precision precision);

/// Depth of a network: deep networks amplify differences from layer to layer and from step to step.
enum class Depth { shallow, deep };

/// Compares activations, gradients (also those of activations), statistics and the loss of one
/// pass. In fp32, compares each value to 1e-4 of its tensor's largest; in deep networks to 2e-3,
/// and to 1e-4 on average except for gradients. Where the device has other relu edges, gradients
/// are compared only on average. In reduced precisions, compares on average, by their epsilon.
void require_same_pass(const RunResult& got, const RunResult& reference, Precision precision,
                       Depth depth = Depth::shallow);

/// Compares losses step by step: to 1e-4 in fp32 (deep: 1e-3), else by epsilon.
void require_same_losses(const RunResult& got, const RunResult& reference, Precision precision,
                         Depth depth = Depth::shallow);

/// Compares networks that amplify one rounding of their images until gradients change by a percent
/// (fp32) or a half (fp16). On average, the distance of values from the reference may be at most
/// three times the distance between the reference and `rounded`, the reference on rounded images,
/// plus the precision's tolerance.
void require_as_near(const RunResult& got, const RunResult& reference, const RunResult& rounded,
                     Precision precision);

} // namespace troupe::testing
