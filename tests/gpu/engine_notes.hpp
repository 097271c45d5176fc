/// Numerical notes of the engines that cuDNN proposes, queried by the tests themselves.
#pragma once

#include "gpu/cudnn/plan_search.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace troupe::testing {

/// Returns the notes of every engine and setting that the heuristics of any mode propose, by
/// Plan::tag(). Requires that cuDNN answers (Catch2); empty when it proposes nothing.
std::map<std::string, gpu::cudnn::NumericalNotes>
proposed_notes(const gpu::cudnn::Target& target, const gpu::cudnn::OperationGraph& graph);

/// Whether cuDNN marks the engine as nondeterministic.
inline bool is_marked(const gpu::cudnn::NumericalNotes& notes) {
  return std::ranges::count(notes, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) > 0;
}

} // namespace troupe::testing
