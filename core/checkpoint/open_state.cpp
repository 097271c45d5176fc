// What is opened by its path: files of any maker, checkpoints of any version.
#include "../fail.hpp"
#include "safetensors.hpp"
#include "state_source.hpp"
#include "widened.hpp"

#include <utility>

namespace troupe {

namespace {

/// One safetensors file.
class StateInFile final : public StateSource {
public:
  StateInFile(CheckpointHeader header, std::vector<SafetensorsEntry> entries,
              SafetensorsReader reader)
      : StateSource{std::move(header)}, entries_{std::move(entries)}, reader_{std::move(reader)} {}

  Status read(std::size_t tensor, std::size_t first, std::span<float> into) const override {
    return read_widened(reader_, entries_[tensor], first, into);
  }

private:
  std::vector<SafetensorsEntry> entries_; ///< as the header's tensors
  SafetensorsReader reader_;
};

} // namespace

Result<StateSourcePtr> open_state(const std::filesystem::path& path) {
  TROUPE_TRY(auto reader, SafetensorsReader::open(path));
  CheckpointHeader header{.metadata = reader.metadata(), .tensors = {}};
  if (is_checkpoint(reader)) {
    TROUPE_TRY(verify_checkpoint(reader));
    TROUPE_TRY(header, read_checkpoint_header(reader));
  }
  std::vector<SafetensorsEntry> entries;
  header.tensors.clear();
  for (const auto& entry : reader.entries())
    if (is_widened(entry.dtype)) {
      header.tensors.push_back({entry.name, entry.shape});
      entries.push_back(entry);
    }
  return std::make_shared<const StateInFile>(std::move(header), std::move(entries),
                                             std::move(reader));
}

} // namespace troupe
