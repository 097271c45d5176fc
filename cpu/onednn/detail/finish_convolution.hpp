/// Applies the epilogue of a convolution that did not apply it itself.
#pragma once

#include "cpu/kernels/kernels.hpp"
#include "cpu/onednn/detail/convert.hpp"
#include "cpu/onednn/detail/primitives.hpp"
#include "cpu/onednn/detail/slices.hpp"

#include <span>
#include <vector>

namespace troupe::cpu {

/// y = y + bias [+ residual], clipped at 0 if relu: a slice at a time, while it is in the cache.
/// Does nothing if the epilogue is empty.
class FinishConvolution {
public:
  FinishConvolution(const Node& node, DType stored, const Epilogue& epilogue, std::size_t channels)
      : node_{node}, stored_{stored}, epilogue_{epilogue},
        ones_(epilogue.bias ? channels : 0, 1.0f) {}

  /// Processes elements [begin, begin + count) of y: whole pixels that have been written.
  void run(const Frame& frame, const Slicing& slicing, std::size_t begin, std::size_t count) const {
    if (!epilogue_.bias)
      return;
    with_element(stored_, [&]<class T>(T) {
      if (slicing.side_by_side)
        return run_part<T>(frame, begin, begin + count);
      parallel_for(count, grain(), [&](std::size_t from, std::size_t to) {
        run_part<T>(frame, begin + from, begin + to);
      });
    });
  }

  /// Like run(), for values not yet cast to y's type: y's elements from `begin` on. `room` has
  /// space for as many.
  void run_wide(const Frame& frame, const Slicing& slicing, std::size_t begin,
                std::span<float> values, float* room) const {
    if (!epilogue_.bias)
      return;
    if (epilogue_.add)
      widen_slice(slicing, stored_,
                  frame.data<std::byte>(node_.inputs[3]) + begin * size_of(stored_), room,
                  values.size());
    const auto part = [&](std::size_t from, std::size_t to) {
      kernels().of<float>().normalize(values.data() + from, epilogue_.add ? room + from : nullptr,
                                      values.data() + from, {to - from, ones_.size()}, ones_.data(),
                                      frame.data<float>(node_.inputs[2]), epilogue_.relu);
    };
    if (slicing.side_by_side)
      part(0, values.size());
    else
      parallel_for(values.size(), grain(), part);
  }

private:
  /// Whole rows, a few at a time.
  std::size_t grain() const { return (8192 + ones_.size() - 1) / ones_.size() * ones_.size(); }

  template <class T>
  void run_part(const Frame& frame, std::size_t begin, std::size_t end) const {
    auto* const y = frame.data<T>(node_.outputs[0]) + begin;
    const auto* const residual = epilogue_.add ? frame.data<T>(node_.inputs[3]) + begin : nullptr;
    kernels().of<T>().normalize(y, residual, y, {end - begin, ones_.size()}, ones_.data(),
                                frame.data<float>(node_.inputs[2]), epilogue_.relu);
  }

  Node node_;
  DType stored_;
  Epilogue epilogue_;
  std::vector<float> ones_; ///< a factor for each channel
};

} // namespace troupe::cpu
