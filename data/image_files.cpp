#include "data/image_files.hpp"

#include "core/fail.hpp"
#include "core/sha256.hpp"
#include "data/detail/folder_walk.hpp"
#include "data/detail/image_file.hpp"
#include "data/detail/spread.hpp"

#include <algorithm>
#include <utility>

namespace troupe::data {

namespace fs = std::filesystem;

namespace {

class ImageFiles final : public ImageDataset {
public:
  ImageFiles(ImageInfo info, std::vector<fs::path> files)
      : ImageDataset{std::move(info), std::vector<std::int32_t>(files.size(), -1)},
        files_{std::move(files)} {}

  Result<ImageView> read(std::int64_t index, std::vector<std::uint8_t>& scratch) const override {
    return read_image(files_[static_cast<std::size_t>(index)], info().channels, scratch);
  }

private:
  void keep(std::span<const std::int64_t> samples) override { keep_only(files_, samples); }

  void add_pixels(Sha256& sha) const override {
    for (const auto& file : files_)
      sha.update(std::string_view{file.native()});
  }

  std::vector<fs::path> files_;
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

ImageDatasetPtr open_image_files(ImageInfo info, std::vector<fs::path> files) {
  return std::make_shared<const ImageFiles>(std::move(info), std::move(files));
}

} // namespace troupe::data
