#include "core/fail.hpp"
#include "data/detail/file.hpp"
#include "data/detail/memory_images.hpp"
#include "data/formats.hpp"
#include "data/normalization.hpp"

namespace troupe::data {

namespace fs = std::filesystem;

namespace {

constexpr int side = 32;
constexpr std::size_t plane = std::size_t{side} * side;
constexpr std::size_t image_bytes = 3 * plane;
constexpr std::size_t record_bytes = 1 + image_bytes;

ImageInfo cifar10_info(const fs::path& root) {
  return {.name = "cifar10",
          .source = root.string(),
          .class_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse",
                          "ship", "truck"},
          .channels = 3,
          .normalization = default_normalization("cifar10")};
}

/// Converts planes of red, green and blue to pixels of three bytes.
void interleave(const std::uint8_t* planes, std::uint8_t* pixels) {
  for (std::size_t i = 0; i < plane; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      pixels[3 * i + c] = planes[c * plane + i];
}

Status append_file(const fs::path& path, const fs::path& root, std::int64_t records,
                   std::vector<std::int32_t>& labels, std::vector<std::uint8_t>& pixels) {
  const auto hint = fetch_hint("cifar10", root);
  auto file = InputFile::open(path);
  if (!file)
    return file.error().code == Errc::data ? fail(Errc::data, "{}; {}", file.error().message, hint)
                                           : failure(file.error());
  const auto expected = static_cast<std::size_t>(records) * record_bytes;
  if (file->bytes() != expected)
    return fail(Errc::data,
                "{}: expected {} bytes ({} records of {}), found {}: the file is {}; {}",
                path.string(), expected, records, record_bytes, file->bytes(),
                file->bytes() < expected ? "truncated" : "too long", hint);
  TROUPE_TRY(const auto bytes, read_file(path));
  for (std::size_t record = 0; record < static_cast<std::size_t>(records); ++record) {
    const auto* source = bytes.data() + record * record_bytes;
    if (*source > 9)
      return fail(Errc::data,
                  "{}: record {} has label {}, expected 0 to 9: the file is damaged or is not "
                  "CIFAR-10's binary version; {}",
                  path.string(), record, *source, hint);
    labels.push_back(*source);
    pixels.resize(pixels.size() + image_bytes);
    interleave(source + 1, pixels.data() + pixels.size() - image_bytes);
  }
  return {};
}

} // namespace

Result<std::shared_ptr<ImageDataset>> open_cifar10(const fs::path& root, Split split,
                                                   std::int64_t records_per_file) {
  TROUPE_TRY(check_root("cifar10", root));
  std::error_code ignored;
  const auto unpacked = root / "cifar-10-batches-bin"; // folder inside the archive
  const auto folder = fs::is_directory(unpacked, ignored) ? unpacked : root;
  std::vector<std::string> names = {"test_batch.bin"};
  if (split == Split::train)
    names = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
             "data_batch_5.bin"};
  std::vector<std::int32_t> labels;
  std::vector<std::uint8_t> pixels;
  pixels.reserve(names.size() * static_cast<std::size_t>(records_per_file) * image_bytes);
  for (const auto& name : names)
    TROUPE_TRY(append_file(folder / name, root, records_per_file, labels, pixels));
  return std::make_shared<MemoryImages>(cifar10_info(root), std::move(labels), std::move(pixels),
                                        side, side);
}

} // namespace troupe::data
