#include "training/hugging_face/weights.hpp"

#include "core/checkpoint/state_files.hpp"
#include "core/config/config.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "nn/models/hugging_face.hpp"
#include "training/hugging_face/config_file.hpp"
#include "training/hugging_face/weight_files.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace troupe::training {

namespace {

using EntryList = std::vector<SafetensorsEntry>;
using nn::HuggingFaceForm;

EntryList entries_of(const std::vector<SafetensorsReader>& readers) {
  EntryList all;
  for (const auto& reader : readers)
    all.insert(all.end(), reader.entries().begin(), reader.entries().end());
  return all;
}

/// Refuses tensors that are parts of larger ones. Files of our checkpoints have such parts, Hugging
/// Face's do not.
Status expect_whole(const EntryList& entries, const StateSource& state) {
  for (const auto& entry : entries)
    if (const auto number = state.find(entry.name);
        number && state.header().tensors[*number].shape != entry.shape)
      return fail(Errc::invalid_input, "tensor '{}' is only a part of a larger tensor",
                  echoed(entry.name));
  return {};
}

bool is_tied_head(std::string_view name, const Graph& graph) {
  return name == nn::hugging_face_head && !graph.find(std::string{name});
}

/// Compares two tensors bitwise. `a` and `b` are the numbers of tensors of one shape.
Result<bool> are_equal(const StateSource& state, std::size_t a, std::size_t b) {
  constexpr std::size_t chunk = std::size_t{1} << 16;
  const auto elements = static_cast<std::size_t>(state.header().tensors[a].shape.elements());
  std::vector<float> one(chunk), other(chunk);
  for (std::size_t at = 0; at < elements; at += chunk) {
    const auto count = std::min(chunk, elements - at);
    TROUPE_TRY(state.read(a, at, std::span{one}.first(count)));
    TROUPE_TRY(state.read(b, at, std::span{other}.first(count)));
    if (std::memcmp(one.data(), other.data(), count * sizeof(float)) != 0)
      return false;
  }
  return true;
}

struct TransposedTensor {
  std::string name;
  std::size_t number = 0;     ///< index in the other state
  bool is_transposed = false; ///< (C, R) in the other state, (R, C) here
};

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

/// A state of the given tensors of another one. Reading a part of a transposed matrix reads a run
/// of columns from each row of the other matrix. It needs memory for the part, and for one row.
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

class Opening {
public:
  Opening(const Graph& graph, const HuggingFaceForm& form, EntryList entries, StateSourcePtr state)
      : graph_{graph}, form_{form}, entries_{std::move(entries)}, state_{std::move(state)},
        has_prefix_{std::ranges::any_of(
            entries_, [&](const auto& entry) { return entry.name.starts_with(form_.prefix); })} {}

  Result<HuggingFaceWeights> run() && {
    for (auto& entry : entries_)
      TROUPE_TRY(take(entry));
    return HuggingFaceWeights{std::move(taken_),
                              std::make_shared<const TransposedState>(state_, std::move(turned_))};
  }

private:
  std::string name_here(const std::string& name) const {
    return has_prefix_ || name == nn::hugging_face_head ? name : form_.prefix + name;
  }

  Status take(const SafetensorsEntry& entry) {
    if (form_.is_constant && form_.is_constant(entry.name))
      return {};
    if (is_tied_head(entry.name, graph_))
      return expect_tied(entry);
    auto name = name_here(entry.name);
    const bool is_transposed = form_.is_transposed && form_.is_transposed(name);
    auto shape = entry.shape;
    if (is_transposed) {
      TROUPE_TRY(expect_transposed(entry, name));
      std::swap(shape.dims.front(), shape.dims.back());
    }
    if (const auto number = state_->find(entry.name))
      turned_.push_back({name, *number, is_transposed});
    taken_.push_back({.name = std::move(name), .dtype = entry.dtype, .shape = std::move(shape)});
    return {};
  }

  /// Reports the shapes of the file, because match_weights would report the transposed ones.
  Status expect_transposed(const SafetensorsEntry& entry, const std::string& name) const {
    const auto id = graph_.find(name);
    auto expected = id ? graph_[*id].shape : Shape{0, 0};
    std::swap(expected.dims.front(), expected.dims.back());
    if (entry.shape == expected || (!id && entry.shape.rank() == 2))
      return {};
    return fail(Errc::invalid_input, "{}: {} in the file, expected {} (in, out)",
                echoed(entry.name), echoed(entry.shape.to_string()), expected.to_string());
  }

  Status expect_tied(const SafetensorsEntry& entry) const {
    const auto head = state_->find(entry.name);
    auto table = state_->find(form_.table);
    if (!table && !has_prefix_)
      table = state_->find(form_.table.substr(form_.prefix.size()));
    if (!head)
      return fail(Errc::invalid_input, "{}: {} in the file, expected F32, F16, BF16 or F64",
                  entry.name, entry.dtype);
    if (!table) // match_weights then reports the missing table
      return {};
    TROUPE_TRY(const bool equal, state_->header().tensors[*table].shape == entry.shape
                                     ? are_equal(*state_, *head, *table)
                                     : Result<bool>{false});
    if (equal)
      return {};
    return fail(Errc::invalid_input,
                "{} differs from {}: the head is not tied; set model.head to own", entry.name,
                form_.table);
  }

  const Graph& graph_;
  const HuggingFaceForm& form_;
  EntryList entries_;
  StateSourcePtr state_;
  bool has_prefix_; ///< names in the file have the prefix
  EntryList taken_;
  std::vector<TransposedTensor> turned_;
};

} // namespace

Result<HuggingFaceWeights> open_hugging_face(const std::filesystem::path& folder,
                                             const Config& config, const Graph& graph) {
  const auto form = nn::hugging_face_form(config.model, nn::input_spec(config));
  if (!form)
    return fail(
        Errc::invalid_input,
        "{} is a Hugging Face folder, and {} cannot load weights from one; models that can: {}",
        escaped(folder.string()), config.model.name,
        fmt::join(nn::hugging_face_models(config.model), ", "));
  TROUPE_TRY(check_config_file(folder, config.model.name, *form));
  TROUPE_TRY(auto readers, open_weight_files(folder));
  auto entries = entries_of(readers);
  TROUPE_TRY(auto state, state_in_files({}, std::move(readers)));
  TROUPE_TRY(expect_whole(entries, *state));
  auto opened = Opening{graph, *form, std::move(entries), std::move(state)}.run();
  if (!opened)
    return fail(opened.error().code, "{}: {}", escaped(folder.string()), opened.error().message);
  return opened;
}

} // namespace troupe::training
