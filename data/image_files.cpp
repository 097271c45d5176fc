#include "image_files.hpp"

#include "detail/image_file.hpp"
#include "troupe/core/fail.hpp"
#include "troupe/core/sha256.hpp"

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
  void add_pixels(Sha256& sha) const override {
    for (const auto& file : files_)
      sha.update(std::string_view{file.native()});
  }

  std::vector<fs::path> files_;
};

} // namespace

Result<std::vector<fs::path>> image_files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator at{folder, fs::directory_options::follow_directory_symlink,
                                      error},
      end;
  for (; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (!is_image_file(at->path()) || at->is_directory(ignored))
      continue;
    if (at->is_regular_file(ignored))
      files.push_back(at->path());
    else if (at->exists(ignored))
      return fail(Errc::data, "{}: it is no regular file; remove it", at->path().string());
  }
  if (error)
    return fail(Errc::io, "{}: {}", folder.string(), error.message());
  if (files.empty())
    return fail(Errc::data,
                "{}: found no .jpg, .jpeg, .png or .webp files; remove the folder or fill it",
                folder.string());
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    const auto a_folder = a.parent_path().native(), b_folder = b.parent_path().native();
    return a_folder != b_folder ? a_folder < b_folder : a.native() < b.native();
  });
  return files;
}

ImageDatasetPtr open_image_files(ImageInfo info, std::vector<fs::path> files) {
  return std::make_shared<const ImageFiles>(std::move(info), std::move(files));
}

} // namespace troupe::data
