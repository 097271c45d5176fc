#include "core/fail.hpp"
#include "data/detail/file.hpp"
#include "data/detail/memory_images.hpp"
#include "data/formats.hpp"
#include "data/normalization.hpp"

#include <array>
#include <limits>

namespace troupe::data {

namespace fs = std::filesystem;

namespace {

ImageInfo info_of(IdxFlavour flavour, const fs::path& root) {
  using ClassNames = std::vector<std::string>;
  const bool digits = flavour == IdxFlavour::mnist;
  const std::string name = digits ? "mnist" : "fashion_mnist";
  return {.name = name,
          .source = root.string(),
          .class_names = digits ? ClassNames{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
                                : ClassNames{"T-shirt/top", "trouser", "pullover", "dress", "coat",
                                             "sandal", "shirt", "sneaker", "bag", "ankle boot"},
          .channels = 1,
          .normalization = default_normalization(name)};
}

struct IdxFile {
  std::string path;
  std::vector<std::size_t> sizes;  ///< from the header
  std::vector<std::uint8_t> bytes; ///< the whole file
  std::size_t data = 0;            ///< offset of the values
};

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | bytes[3];
}

/// Finds NAME or NAME.gz, or with a dot, as some copies have it ("train-images.idx3-ubyte").
/// Prefers regular files; another kind of file is refused when it is read.
Result<fs::path> find_file(const fs::path& root, const std::string& name) {
  auto dotted = name;
  dotted[dotted.rfind("-idx")] = '.';
  const std::array candidates = {name, name + ".gz", dotted, dotted + ".gz"};
  std::error_code ignored;
  for (const auto& candidate : candidates)
    if (fs::is_regular_file(root / candidate, ignored))
      return root / candidate;
  for (const auto& candidate : candidates)
    if (fs::exists(root / candidate, ignored))
      return root / candidate;
  return fail(Errc::data, "{}: there is no such file, nor {}.gz", (root / name).string(), name);
}

constexpr auto absurd = std::numeric_limits<std::size_t>::max();

/// Reads the header of an IDX file. Returns the number of values; `absurd` if it overflows.
Result<std::size_t> read_header(IdxFile& file, std::size_t rank) {
  TROUPE_TRY(const auto header, read_maybe_gzip(file.path, file.data));
  if (header.size() < file.data)
    return fail(Errc::data,
                "{}: expected a header of {} bytes, found {} bytes: the file is truncated",
                file.path, file.data, header.size());
  const auto magic = big_endian(header.data());
  if (magic != 0x800 + rank)
    return fail(
        Errc::data,
        "{}: expected an IDX file with magic number 0x{:08x} ({}-dimensional, unsigned bytes), "
        "found 0x{:08x}",
        file.path, 0x800 + rank, rank, magic);
  std::size_t values = 1;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    file.sizes.push_back(big_endian(header.data() + 4 + 4 * axis));
    const auto size = file.sizes.back();
    values = size != 0 && values > absurd / size ? absurd : values * size;
  }
  return values;
}

/// Reads an IDX file of unsigned bytes: magic 0x0000'08'RANK, RANK big-endian sizes, then the
/// values. A gzip file is decompressed up to the size in the header plus one byte, to detect a
/// longer file.
Result<IdxFile> read_idx(const fs::path& root, const std::string& name, std::size_t rank) {
  TROUPE_TRY(const auto path, find_file(root, name));
  IdxFile file{path.string(), {}, {}, 4 + 4 * rank};
  TROUPE_TRY(const auto values, read_header(file, rank));
  const auto whole = values < absurd - file.data ? file.data + values + 1 : absurd;
  TROUPE_TRY(file.bytes, read_maybe_gzip(path, whole));
  if (const auto found = file.bytes.size() - file.data; found > values)
    return fail(Errc::data,
                "{}: the header promises {} values, and more follow: the file is too long",
                file.path, values);
  else if (found < values)
    return fail(Errc::data, "{}: the header promises {} values, found {}: the file is truncated",
                file.path, values, found);
  return file;
}

Result<std::shared_ptr<ImageDataset>> open_files(const fs::path& root, Split split,
                                                 ImageInfo info) {
  const std::string prefix = split == Split::train ? "train" : "t10k";
  TROUPE_TRY(auto images, read_idx(root, prefix + "-images-idx3-ubyte", 3));
  TROUPE_TRY(const auto values, read_idx(root, prefix + "-labels-idx1-ubyte", 1));
  if (images.sizes[0] != values.sizes[0])
    return fail(Errc::data, "{} has {} images, but {} has {} labels: they do not belong together",
                images.path, images.sizes[0], values.path, values.sizes[0]);
  if (images.sizes[0] == 0 || images.sizes[1] == 0 || images.sizes[2] == 0)
    return fail(Errc::data, "{}: {} images of {} x {} pixels: the file is empty", images.path,
                images.sizes[0], images.sizes[1], images.sizes[2]);
  std::vector<std::int32_t> labels;
  labels.reserve(values.sizes[0]);
  for (auto i = values.data; i < values.bytes.size(); ++i) {
    if (values.bytes[i] >= info.class_names.size())
      return fail(Errc::data, "{}: label {} of sample {}, expected 0 to {}", values.path,
                  values.bytes[i], i - values.data, info.class_names.size() - 1);
    labels.push_back(values.bytes[i]);
  }
  images.bytes.erase(images.bytes.begin(),
                     images.bytes.begin() + static_cast<std::ptrdiff_t>(images.data));
  return std::make_shared<MemoryImages>(std::move(info), std::move(labels), std::move(images.bytes),
                                        static_cast<int>(images.sizes[1]),
                                        static_cast<int>(images.sizes[2]));
}

} // namespace

Result<std::shared_ptr<ImageDataset>> open_idx(const fs::path& root, Split split,
                                               IdxFlavour flavour) {
  const auto* const fetch_name = flavour == IdxFlavour::mnist ? "mnist" : "fashion-mnist";
  TROUPE_TRY(check_root(fetch_name, root));
  auto dataset = open_files(root, split, info_of(flavour, root));
  if (!dataset && dataset.error().code == Errc::data)
    return fail(Errc::data, "{}; {}", dataset.error().message, fetch_hint(fetch_name, root));
  return dataset;
}

} // namespace troupe::data
