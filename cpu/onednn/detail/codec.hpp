/// Parameters stored in one of oneDNN's blocked layouts.
#pragma once

#include "core/device/executable.hpp"
#include "cpu/onednn/detail/primitives.hpp"

#include <vector>

namespace troupe::cpu {

class BlockedCodec final : public ParameterCodec {
public:
  BlockedCodec(const Library& library, const Shape& shape, const dnnl::memory::desc& stored)
      : encode_{reorder(library, plain_weights(shape, DType::f32), stored)},
        decode_{reorder(library, stored, plain_weights(shape, DType::f32))} {}

  void encode(std::span<const float> canonical, std::span<float> stored) const override {
    run(encode_, canonical, stored);
  }
  void decode(std::span<const float> stored, std::span<float> canonical) const override {
    run(decode_, stored, canonical);
  }
  BlockedLayout layout() const override { return layout_of(description()); }
  const dnnl::memory::desc& description() const { return encode_.description(DNNL_ARG_TO); }

private:
  static void run(const Primitive& reorder, std::span<const float> from, std::span<float> to) {
    std::vector<std::byte> scratch(reorder.scratchpad_bytes());
    reorder.run({{DNNL_ARG_FROM, const_cast<float*>(from.data())}, {DNNL_ARG_TO, to.data()}},
                scratch.data());
  }

  Primitive encode_, decode_;
};

} // namespace troupe::cpu
