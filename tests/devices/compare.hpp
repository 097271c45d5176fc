/// How near results have to be to the truth.
#pragma once

#include "core/graph/precision.hpp"
#include "tests/devices/graph_runner.hpp"

namespace troupe::testing {

/// Requires |value - expected| <= 1e-5 + relative * the tensor's largest value: rounding errors of
/// sums are as large as their largest terms.
void require_close(const Values& values, const Values& expected, float relative);

/// Requires that the difference's norm is at most `relative` of the norm of what is expected, or of
/// a quarter of the largest tensor's: some gradients are zero but for rounding. For reduced
/// precisions, where a rounding moves a relu or a maximum here and there.
void require_close_on_average(const Values& values, const Values& expected, float relative);

/// The largest relative error of one rounding to the type that a precision computes products of,
/// times two: its machine epsilon.
float epsilon(Precision precision);

/// Deep networks amplify differences, from layer to layer and from step to step.
enum class Depth { shallow, deep };

/// Activations, gradients (the activations' too), statistics and loss of one pass. In fp32 value by
/// value, to 1e-4 of a tensor's largest (deep: 2e-3, and 1e-4 on average but for gradients, which
/// are compared on average alone where a device has other relu edges); in reduced precisions on
/// average, by their epsilon.
void require_same_pass(const RunResult& got, const RunResult& reference, Precision precision,
                       Depth depth = Depth::shallow);

/// Losses step by step: 1e-4 in fp32 (deep: 1e-3), else by epsilon.
void require_same_losses(const RunResult& got, const RunResult& reference, Precision precision,
                         Depth depth = Depth::shallow);

/// For networks that amplify one rounding of their images until gradients change by a percent
/// (fp32) or a half (fp16): values may be at most three times as far from the truth, on average, as
/// the truth is from itself with such images (`rounded`), and the precision's tolerance on top.
void require_as_near(const RunResult& got, const RunResult& reference, const RunResult& rounded,
                     Precision precision);

} // namespace troupe::testing
