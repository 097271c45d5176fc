#include "core/escape.hpp"
#include "core/fail.hpp"
#include "data/detail/file.hpp"
#include "data/detail/name_list.hpp"
#include "data/formats.hpp"
#include "data/image_files.hpp"
#include "data/normalization.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::data {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view layout_hint =
    "an image folder has train/CLASS/*.jpg and val/CLASS/*.jpg (or test/, .jpeg, .png, .webp)";

Result<fs::path> split_folder(const fs::path& root, Split split) {
  std::error_code ignored;
  const std::vector<std::string> names = split == Split::train
                                             ? std::vector<std::string>{"train"}
                                             : std::vector<std::string>{"val", "test"};
  for (const auto& name : names)
    if (fs::is_directory(root / name, ignored))
      return root / name;
  return fail(Errc::data, "{}: there is no such folder; {}", (root / names.front()).string(),
              layout_hint);
}

struct ClassFolders {
  std::vector<std::string> names; ///< sorted by bytes, which for UTF-8 is Python's order
  LeftOut left_out;               ///< hidden folders, and files outside the class folders
};

/// Returns the folders in `folder`, except hidden ones, which notebooks and file managers create.
Result<ClassFolders> class_folders(const fs::path& folder) {
  ClassFolders found;
  std::error_code error;
  for (fs::directory_iterator at{folder, error}, end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (auto name = at->path().filename().string(); name.starts_with('.'))
      ++found.left_out.hidden;
    else if (at->is_directory(ignored))
      found.names.push_back(std::move(name));
    else
      ++found.left_out.unread["outside of the class folders"];
  }
  if (error)
    return fail(Errc::io, "{}: {}", folder.string(), error.message());
  if (found.names.empty())
    return fail(Errc::data, "{}: found no class folders; {}", folder.string(), layout_hint);
  std::ranges::sort(found.names);
  return found;
}

} // namespace

Result<std::shared_ptr<ImageDataset>> open_image_folder(const fs::path& root, Split split,
                                                        int channels) {
  std::error_code ignored;
  if (root.empty() || !fs::is_directory(root, ignored))
    return fail(Errc::data, "{}: there is no such folder (data.root); {}",
                root.empty() ? "(empty)" : echoed(root.string()), layout_hint);
  TROUPE_TRY(const auto folder, split_folder(root, split));
  TROUPE_TRY(auto present, class_folders(folder));
  // Labels must be equal in both splits, even if the test split lacks a class.
  auto classes = present.names;
  if (const auto train = root / "train"; split == Split::test && fs::is_directory(train, ignored)) {
    TROUPE_TRY(auto trained, class_folders(train));
    classes = std::move(trained.names);
  }
  std::vector<std::int32_t> labels;
  FoundImages found{.files = {}, .left_out = std::move(present.left_out)};
  for (const auto& name : present.names) {
    const auto known = std::ranges::lower_bound(classes, name);
    if (known == classes.end() || *known != name)
      return fail(Errc::data,
                  "{}: the training images in {} have no class \"{}\", only {}: remove or rename "
                  "the folder",
                  (folder / name).string(), (root / "train").string(), echoed(name),
                  quoted_list(classes));
    TROUPE_TRY(auto images, image_files_below(folder / name));
    labels.insert(labels.end(), images.files.size(),
                  static_cast<std::int32_t>(known - classes.begin()));
    std::ranges::move(images.files, std::back_inserter(found.files));
    found.left_out.add(images.left_out);
  }
  return labelled_image_files(ImageInfo{.name = "image_folder",
                                        .source = folder.string(),
                                        .class_names = std::move(classes),
                                        .channels = channels,
                                        .normalization = default_normalization("image_folder")},
                              std::move(labels), folder, std::move(found));
}

} // namespace troupe::data
