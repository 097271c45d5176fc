#include "cpu/onednn/detail/codec.hpp"

#include <vector>

namespace troupe::cpu {

namespace {

void run(const Primitive& reorder, std::span<const float> from, std::span<float> to) {
  std::vector<std::byte> scratch(reorder.scratchpad_bytes());
  reorder.run({{DNNL_ARG_FROM, const_cast<float*>(from.data())}, {DNNL_ARG_TO, to.data()}},
              scratch.data());
}

} // namespace

BlockedCodec::BlockedCodec(const Library& library, const Shape& shape,
                           const dnnl::memory::desc& stored)
    : encode_{reorder(library, plain_weights(shape, DType::f32), stored)},
      decode_{reorder(library, stored, plain_weights(shape, DType::f32))} {}

void BlockedCodec::encode(std::span<const float> canonical, std::span<float> stored) const {
  run(encode_, canonical, stored);
}

void BlockedCodec::decode(std::span<const float> stored, std::span<float> canonical) const {
  run(decode_, stored, canonical);
}

BlockedLayout BlockedCodec::layout() const {
  return layout_of(description());
}

} // namespace troupe::cpu
