/// What cuDNN says of the engines that it proposes, asked by the tests themselves.
#pragma once

#include "gpu/cudnn/plan_search.hpp"

#include <map>
#include <string>

namespace troupe::testing {

/// Notes of every engine with its settings that heuristics of any mode propose, by Plan::tag().
/// Requires that cuDNN answers (Catch2); none where it proposes nothing.
std::map<std::string, gpu::cudnn::NumericalNotes>
proposed_notes(const gpu::cudnn::Target& target, const gpu::cudnn::OperationGraph& graph);

} // namespace troupe::testing
