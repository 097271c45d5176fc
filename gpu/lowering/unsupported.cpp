// Ops of language models, which have no kernels for CUDA yet.
#include "lowering.hpp"

#include "troupe/core/fail.hpp"

namespace troupe::gpu {

namespace {

Result<StepPtr> not_on_cuda(const Node& node) {
  return fail(Errc::unsupported, "CUDA devices cannot run {} yet: devices.kind cpu can",
              to_string(node.op));
}

} // namespace

Result<StepPtr> lower_embedding(Lowering&, const Node& node) {
  return not_on_cuda(node);
}

Result<StepPtr> lower_position_embedding(Lowering&, const Node& node) {
  return not_on_cuda(node);
}

Result<StepPtr> lower_share(Lowering&, const Node& node) {
  return not_on_cuda(node);
}

Result<StepPtr> lower_rms_norm(Lowering&, const Node& node) {
  return not_on_cuda(node);
}

Result<StepPtr> lower_swiglu(Lowering&, const Node& node) {
  return not_on_cuda(node);
}

Result<StepPtr> lower_rope(Lowering&, const Node& node) {
  return not_on_cuda(node);
}

Result<StepPtr> lower_causal_attention(Lowering&, const Node& node) {
  return not_on_cuda(node);
}

Result<StepPtr> lower_linear_cross_entropy(Lowering&, const Node& node) {
  return not_on_cuda(node);
}

Result<StepPtr> lower_embedding_backward(Lowering&, const Node& node) {
  return not_on_cuda(node);
}

Result<StepPtr> lower_position_embedding_backward(Lowering&, const Node& node) {
  return not_on_cuda(node);
}

Result<StepPtr> lower_rms_norm_backward(Lowering&, const Node& node) {
  return not_on_cuda(node);
}

Result<StepPtr> lower_swiglu_backward(Lowering&, const Node& node) {
  return not_on_cuda(node);
}

Result<StepPtr> lower_rope_backward(Lowering&, const Node& node) {
  return not_on_cuda(node);
}

Result<StepPtr> lower_causal_attention_backward(Lowering&, const Node& node) {
  return not_on_cuda(node);
}

Result<StepPtr> lower_linear_cross_entropy_backward(Lowering&, const Node& node) {
  return not_on_cuda(node);
}

} // namespace troupe::gpu
