/// Writes safetensors files of any types.
#pragma once

#include "core/atomic_file.hpp"
#include "core/checkpoint/safetensors.hpp"
#include "core/fail.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace troupe::testing {

/// One tensor to write. The caller owns the bytes.
struct SafetensorsView {
  std::string name;
  std::string dtype = "F32"; ///< as the format spells it
  Shape shape;
  std::span<const std::byte> bytes;
};

/// Writes a complete file, or none if an error occurs. Tensors with wide elements come first, so
/// that each tensor is aligned.
inline Status write_safetensors(const std::filesystem::path& path,
                                const SafetensorsMetadata& metadata,
                                std::vector<SafetensorsView> tensors) {
  const auto element_size = [](const SafetensorsView& tensor) {
    return safetensors_dtype_size(tensor.dtype).value_or(0);
  };
  std::ranges::stable_sort(tensors, std::ranges::greater{}, element_size);
  std::vector<SafetensorsEntry> entries;
  entries.reserve(tensors.size());
  for (const auto& tensor : tensors)
    entries.push_back({tensor.name, tensor.dtype, tensor.shape});
  TROUPE_TRY(const auto header, make_safetensors_header(metadata, entries));
  TROUPE_TRY(auto file, AtomicFile::create(path));
  TROUPE_TRY(file.write(header));
  for (const auto& tensor : tensors) {
    if (static_cast<std::size_t>(tensor.shape.elements()) * element_size(tensor) !=
        tensor.bytes.size())
      return fail(Errc::internal, "tensor '{}': {} bytes given for {} {}", tensor.name,
                  tensor.bytes.size(), tensor.dtype, tensor.shape.to_string());
    TROUPE_TRY(file.write(tensor.bytes));
  }
  return file.commit();
}

} // namespace troupe::testing
