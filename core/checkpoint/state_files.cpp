#include "core/checkpoint/state_files.hpp"

#include "core/checkpoint/tensor_part.hpp"
#include "core/checkpoint/widened.hpp"
#include "core/cores.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/sha256.hpp"
#include "core/threads.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>

namespace troupe {

namespace {

namespace fs = std::filesystem;

/// A part and the location of its values. Small for a whole tensor, because headers can list very
/// many.
struct Located {
  const SafetensorsReader* reader = nullptr;
  const SafetensorsEntry* entry = nullptr; ///< of the reader
  std::unique_ptr<const TensorPart> described = nullptr;

  std::size_t first() const { return described ? described->first : 0; }
  std::size_t elements() const {
    return described ? described->elements : static_cast<std::size_t>(entry->shape.elements());
  }
  std::size_t end() const { return first() + elements(); }
  std::size_t stored() const { return described ? described->stored : elements(); }
  const Shape& shape() const { return described ? described->shape : entry->shape; }
  const BlockedLayout* layout() const {
    return described && described->layout ? &*described->layout : nullptr;
  }
  std::string path() const { return escaped(reader->path().string()); }
  std::string folder() const { return escaped(reader->path().parent_path().string()); }
};

/// All parts of a tensor, in order.
using Parts = std::vector<Located>;

Result<Located> locate(const SafetensorsReader& reader, const SafetensorsEntry& entry) {
  Located located{.reader = &reader, .entry = &entry};
  const auto text = reader.metadata().find(part_key(entry.name));
  if (text == reader.metadata().end())
    return located;
  auto part = parse_part(entry.name, text->second, located.elements());
  if (!part)
    return fail(Errc::corrupt, "{}: {}", located.path(), part.error().message);
  located.described = std::make_unique<const TensorPart>(*std::move(part));
  return located;
}

bool have_same_layout(const Located& a, const Located& b) {
  const auto *one = a.layout(), *other = b.layout();
  return one && other ? *one == *other : one == other;
}

Status check(const Parts& parts) {
  const auto& first = parts.front();
  const auto& name = first.entry->name;
  std::size_t end = 0;
  for (const auto& part : parts) {
    if (part.shape() != first.shape() || part.stored() != first.stored() ||
        !have_same_layout(part, first))
      return fail(Errc::corrupt, "{}: tensor '{}' differs from the one in {}", part.path(),
                  echoed(name), first.path());
    if (part.first() != end)
      return fail(Errc::corrupt, "{}: the parts of tensor '{}' {} at element {} of {}",
                  part.folder(), echoed(name), part.first() < end ? "overlap" : "leave a gap",
                  std::min(part.first(), end), part.stored());
    end += part.elements();
  }
  if (end != first.stored())
    return fail(Errc::corrupt, "{}: tensor '{}' ends at element {} of {}: a part is missing",
                first.folder(), echoed(name), end, first.stored());
  if (first.layout() && !first.layout()->fits(first.shape(), first.stored()))
    return fail(Errc::corrupt, "{}: tensor '{}' does not fit its layout", first.path(),
                echoed(name));
  return {};
}

/// Groups the parts by tensor, in the order of their first parts.
Result<std::vector<Parts>> group(std::vector<Located> all) {
  std::unordered_map<std::string_view, std::uint32_t> numbers;
  std::vector<Parts> tensors;
  for (auto& located : all) {
    const auto next = static_cast<std::uint32_t>(tensors.size());
    const auto [known, is_new] = numbers.emplace(located.entry->name, next);
    if (is_new)
      tensors.emplace_back();
    tensors[known->second].push_back(std::move(located));
  }
  for (auto& parts : tensors) {
    std::ranges::sort(parts, {}, [](const Located& one) {
      return std::pair{one.first(), one.elements()};
    });
    TROUPE_TRY(check(parts));
  }
  return tensors;
}

class StateInFiles final : public StateSource {
public:
  StateInFiles(CheckpointHeader header, std::vector<Parts> tensors,
               std::shared_ptr<const std::vector<SafetensorsReader>> readers)
      : StateSource{std::move(header)}, tensors_{std::move(tensors)}, readers_{std::move(readers)} {
  }

  Status read(std::size_t tensor, std::size_t first, std::span<float> into) const override {
    const auto& parts = tensors_[tensor];
    const auto* const layout = parts.front().layout();
    if (!layout)
      return read_stored(parts, first, into);
    const auto& shape = parts.front().shape();
    std::vector<float> stored(parts.front().stored());
    TROUPE_TRY(read_stored(parts, 0, stored));
    if (into.size() == static_cast<std::size_t>(shape.elements())) {
      layout->decode(shape, stored, into);
      return {};
    }
    std::vector<float> canonical(static_cast<std::size_t>(shape.elements()));
    layout->decode(shape, stored, canonical);
    std::ranges::copy(std::span{canonical}.subspan(first, into.size()), into.begin());
    return {};
  }

private:
  static Status read_stored(const Parts& parts, std::size_t first, std::span<float> into) {
    // The last part that begins at or before `first`.
    auto located = std::prev(std::ranges::upper_bound(parts, first, {}, &Located::first));
    while (!into.empty()) {
      const auto count = std::min(into.size(), located->end() - first);
      TROUPE_TRY(read_widened(*located->reader, *located->entry, first - located->first(),
                              into.first(count)));
      into = into.subspan(count);
      first += count;
      ++located;
    }
    return {};
  }

  std::vector<Parts> tensors_; ///< in the header's order
  std::shared_ptr<const std::vector<SafetensorsReader>> readers_;
};

Status verify(const SafetensorsReader& reader, const FileRecord& record) {
  Sha256 sha;
  sha.update(reader.header());
  TROUPE_TRY(reader.scan([&](std::span<const std::byte> piece) { sha.update(piece); }));
  if (const auto digest = sha.hex_digest(); digest != record.sha256)
    return fail(Errc::corrupt, "{}: the checksum does not match: the file is damaged (SHA-256 {})",
                escaped(reader.path().string()), digest);
  return {};
}

} // namespace

Result<StateSourcePtr> state_in_files(CheckpointHeader header,
                                      std::vector<SafetensorsReader> opened) {
  const auto readers = std::make_shared<const std::vector<SafetensorsReader>>(std::move(opened));
  std::vector<Located> all;
  for (const auto& reader : *readers)
    for (const auto& entry : reader.entries())
      if (is_widened(entry.dtype)) {
        TROUPE_TRY(all.emplace_back(), locate(reader, entry));
      }
  TROUPE_TRY(auto tensors, group(std::move(all)));
  // Each rank's file has parts of the model and of the optimizer: puts the model's tensors first.
  std::stable_partition(tensors.begin(), tensors.end(), [](const Parts& parts) {
    return !is_optimizer_tensor(parts.front().entry->name);
  });
  header.tensors.clear();
  for (const auto& parts : tensors)
    header.tensors.push_back({parts.front().entry->name, parts.front().shape()});
  return std::make_shared<const StateInFiles>(std::move(header), std::move(tensors), readers);
}

Result<std::vector<SafetensorsReader>> open_files(const fs::path& folder,
                                                  const Manifest& manifest) {
  std::vector<SafetensorsReader> readers;
  for (const auto& file : manifest.files) {
    const auto path = folder / file.name;
    std::error_code error;
    const auto bytes = fs::file_size(path, error);
    if (error)
      return fail(error == std::errc::no_such_file_or_directory ? Errc::corrupt : Errc::io,
                  "the checkpoint {} lacks its file {}: {}", escaped(folder.string()),
                  escaped(file.name), error.message());
    if (bytes != file.bytes)
      return fail(Errc::corrupt, "{}: it has {} bytes, but according to {} it should have {}",
                  escaped(path.string()), bytes, manifest_name, file.bytes);
    TROUPE_TRY(auto reader, SafetensorsReader::open(path));
    readers.push_back(std::move(reader));
  }
  return readers;
}

Status verify_files(const std::vector<SafetensorsReader>& readers, const Manifest& manifest) {
  std::vector<Status> results(readers.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (auto i = next++; i < readers.size(); i = next++)
      results[i] = verify(readers[i], manifest.files[i]);
  };
  const auto threads = std::clamp<int>(static_cast<int>(readers.size()), 1, usable_cores().count());
  TROUPE_TRY(expect_threads(threads - 1));
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i)
      others.emplace_back(work);
    work();
  }
  for (const auto& result : results)
    TROUPE_TRY(result);
  return {};
}

} // namespace troupe
