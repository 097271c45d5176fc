#include "data/image_files.hpp"

#include "core/fail.hpp"
#include "core/sha256.hpp"
#include "data/detail/folder_walk.hpp"
#include "data/detail/image_file.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

namespace troupe::data {

namespace fs = std::filesystem;

namespace {

class ImageFiles final : public ImageDataset {
public:
  ImageFiles(ImageInfo info, std::vector<std::int32_t> labels, fs::path folder, FoundImages found)
      : ImageDataset{std::move(info), std::move(labels)}, folder_{std::move(folder)},
        files_{std::move(found.files)}, left_out_{std::move(found.left_out)} {}

  Result<ImageView> read(std::int64_t index, std::vector<std::uint8_t>& scratch) const override {
    const auto begin = std::chrono::steady_clock::now();
    auto image = read_image(files_[static_cast<std::size_t>(index)], info().channels, scratch);
    nanoseconds_ += (std::chrono::steady_clock::now() - begin) / std::chrono::nanoseconds{1};
    return image;
  }

  LeftOut left_out() const override { return left_out_; }
  double decode_seconds() const override { return 1e-9 * static_cast<double>(nanoseconds_.load()); }

private:
  void keep(std::span<const std::int64_t> samples) override { keep_only(files_, samples); }

  void add_pixels(Sha256& sha) const override {
    constexpr std::size_t most_sizes = 4096; // a size may require a slow remote request
    const auto count = static_cast<std::size_t>(size());
    const auto every = (count + most_sizes - 1) / most_sizes;
    for (std::size_t i = 0; i < count; ++i) {
      std::error_code none; // an unknown size counts as the largest uint64
      const std::uint64_t bytes = i % every == 0 ? fs::file_size(files_[i], none) : 0;
      sha.update(std::string_view{files_[i].native()}.substr(folder_.native().size()));
      sha.update(std::as_bytes(std::span{&bytes, 1}));
    }
  }

  fs::path folder_;
  std::vector<fs::path> files_;
  LeftOut left_out_;
  mutable std::atomic<std::int64_t> nanoseconds_ = 0; ///< time spent on reading and decoding files
};

} // namespace

Result<FoundImages> image_files_below(const fs::path& folder) {
  TROUPE_TRY(auto found, walk_folder(folder, is_image_file));
  if (!found.irregular.empty())
    return fail(Errc::data, "{}: not a regular file; remove it", found.irregular.front().string());
  if (const auto others = found.left_out.unread_text(); found.files.empty())
    return fail(Errc::data,
                "{}: found no .jpg, .jpeg, .png or .webp files{}; remove the folder or fill it",
                folder.string(), others.empty() ? "" : fmt::format(" ({})", others));
  std::ranges::sort(found.files, [](const fs::path& a, const fs::path& b) {
    const auto a_folder = a.parent_path().native(), b_folder = b.parent_path().native();
    return a_folder != b_folder ? a_folder < b_folder : a.native() < b.native();
  });
  return FoundImages{std::move(found.files), std::move(found.left_out)};
}

std::shared_ptr<ImageDataset> labelled_image_files(ImageInfo info, std::vector<std::int32_t> labels,
                                                   fs::path folder, FoundImages found) {
  return std::make_shared<ImageFiles>(std::move(info), std::move(labels), std::move(folder),
                                      std::move(found));
}

ImageDatasetPtr open_image_files(ImageInfo info, std::vector<fs::path> files) {
  std::vector<std::int32_t> no_labels(files.size(), -1);
  return labelled_image_files(std::move(info), std::move(no_labels), {}, {std::move(files), {}});
}

} // namespace troupe::data
