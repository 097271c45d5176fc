#include "gpu/cudnn/detail/own_tensors.hpp"

#include "gpu/alignment.hpp"

namespace troupe::gpu::cudnn {

OwnTensors::OwnTensors(const OperationGraph& graph) {
  for (const auto& tensor : graph.tensors) {
    if (tensor.value)
      constants_.emplace_back(tensor.uid, *tensor.value);
    if (!tensor.is_scratch)
      continue;
    scratch_.emplace_back(tensor.uid, scratch_bytes_);
    scratch_bytes_ += aligned(tensor.bytes());
  }
}

void OwnTensors::bind(std::vector<Binding>& bindings, void* scratch) const {
  // cuDNN takes all addresses as void*, and only reads constants.
  for (const auto& constant : constants_)
    bindings.push_back({constant.first, const_cast<float*>(&constant.second)});
  for (const auto& [uid, offset] : scratch_)
    bindings.push_back({uid, static_cast<std::byte*>(scratch) + offset});
}

} // namespace troupe::gpu::cudnn
