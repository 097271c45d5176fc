/// Parameters stored in one of oneDNN's blocked layouts.
#pragma once

#include "core/device/executable.hpp"
#include "cpu/onednn/detail/primitives.hpp"

namespace troupe::cpu {

class BlockedCodec final : public ParameterCodec {
public:
  BlockedCodec(const Library& library, const Shape& shape, const dnnl::memory::desc& stored);
  void encode(std::span<const float> canonical, std::span<float> stored) const override;
  void decode(std::span<const float> stored, std::span<float> canonical) const override;
  BlockedLayout layout() const override;
  const dnnl::memory::desc& description() const { return encode_.description(DNNL_ARG_TO); }

private:
  Primitive encode_, decode_;
};

} // namespace troupe::cpu
