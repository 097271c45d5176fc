#include "training/hugging_face/transposed_state.hpp"

#include "core/fail.hpp"

#include <utility>

namespace troupe::training {

namespace {

CheckpointHeader header_of_transposed(const StateSource& other,
                                      const std::vector<TransposedTensor>& tensors) {
  CheckpointHeader header{.metadata = other.header().metadata, .tensors = {}};
  for (const auto& tensor : tensors) {
    auto shape = other.header().tensors[tensor.number].shape;
    if (tensor.is_transposed)
      std::swap(shape.dims.front(), shape.dims.back());
    header.tensors.push_back({tensor.name, shape});
  }
  return header;
}

class TransposedState final : public StateSource {
public:
  TransposedState(StateSourcePtr other, std::vector<TransposedTensor> tensors)
      : StateSource{header_of_transposed(*other, tensors)}, other_{std::move(other)},
        tensors_{std::move(tensors)} {}

  Status read(std::size_t tensor, std::size_t first, std::span<float> into) const override {
    const auto& [name, number, is_transposed] = tensors_[tensor];
    if (!is_transposed || into.empty())
      return other_->read(number, first, into);
    const auto& dims = header().tensors[tensor].shape.dims;
    return read_columns(number, static_cast<std::size_t>(dims[0]),
                        static_cast<std::size_t>(dims[1]), first, into);
  }

private:
  /// Reads a part of a transposed matrix. Its rows are columns of the other state's matrix: reads
  /// only the columns with elements from `first` on.
  Status read_columns(std::size_t number, std::size_t rows, std::size_t columns, std::size_t first,
                      std::span<float> into) const {
    const auto begin = first / columns, end = (first + into.size() - 1) / columns + 1;
    std::vector<float> run(end - begin);
    for (std::size_t column = 0; column < columns; ++column) {
      TROUPE_TRY(other_->read(number, column * rows + begin, run));
      for (std::size_t row = begin; row < end; ++row)
        if (const auto at = row * columns + column; at >= first && at - first < into.size())
          into[at - first] = run[row - begin];
    }
    return {};
  }

  StateSourcePtr other_;
  std::vector<TransposedTensor> tensors_; ///< in the order of the header
};

} // namespace

StateSourcePtr transposed_state(StateSourcePtr other, std::vector<TransposedTensor> tensors) {
  return std::make_shared<const TransposedState>(std::move(other), std::move(tensors));
}

} // namespace troupe::training
