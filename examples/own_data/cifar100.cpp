// A custom data set: `cifar100`, the "binary version" of CIFAR-100 (Krizhevsky 2009). train.bin and
// test.bin have records of two labels, a coarse and a fine one, and 32 x 32 pixels in red, green
// and blue planes; coarse_label_names.txt and fine_label_names.txt have one name per line. Files
// are not trusted: each error names the file, what was found and what to do.
#include <troupe/app/program.hpp>
#include <troupe/core/config/config.hpp>
#include <troupe/core/config/custom_key.hpp>
#include <troupe/core/fail.hpp>
#include <troupe/data/custom_images.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace {

using namespace troupe;
namespace fs = std::filesystem;

const CustomKey<std::string> labels = {"labels",
                                       "fine",
                                       {.choices = {"fine", "coarse"}},
                                       "What is learnt: one of 100 classes, or of 20"};

constexpr int side = 32;
constexpr std::size_t plane = std::size_t{side} * side, record = 2 + 3 * plane;

Result<std::string> read_whole(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  std::string bytes{std::istreambuf_iterator<char>{in}, {}};
  if (!in.is_open() || in.bad())
    return fail(Errc::data,
                "cannot read {}: data.root has to be the folder of CIFAR-100's binary version",
                path.string());
  return bytes;
}

Result<std::vector<std::string>> read_names(const fs::path& path) {
  TROUPE_TRY(const auto text, read_whole(path));
  std::vector<std::string> names;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    if (end > at) // the file ends with an empty line
      names.push_back(text.substr(at, end - at));
  }
  return names;
}

struct Records {
  std::vector<std::int32_t> labels;
  std::vector<std::uint8_t> pixels; ///< of one image after the other, each (32, 32, 3)
};

Result<Records> read_records(const fs::path& file, bool fine) {
  TROUPE_TRY(const auto bytes, read_whole(file));
  if (bytes.empty() || bytes.size() % record != 0)
    return fail(Errc::data, "{}: {} bytes are no whole records of {}: fetch the file again",
                file.string(), bytes.size(), record);
  Records read;
  read.pixels.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += record) {
    read.labels.push_back(static_cast<std::uint8_t>(bytes[at + (fine ? 1 : 0)]));
    for (std::size_t i = 0; i < plane; ++i)
      for (std::size_t colour = 0; colour < 3; ++colour)
        read.pixels.push_back(static_cast<std::uint8_t>(bytes[at + 2 + colour * plane + i]));
  }
  return read;
}

Result<data::AdapterPtr> open_cifar100(const Config& config, data::Split split) {
  const fs::path root = config.data.root;
  const auto kind = custom_value(config.data, labels);
  TROUPE_TRY(auto names, read_names(root / (kind + "_label_names.txt")));
  const auto file = root / (split == data::Split::train ? "train.bin" : "test.bin");
  TROUPE_TRY(auto records, read_records(file, kind == "fine"));
  const data::Normalization normal = {{0.5071f, 0.4865f, 0.4409f}, {0.2673f, 0.2564f, 0.2762f}};
  TROUPE_TRY(auto images,
             data::images_in_memory({.name = "cifar100",
                                     .source = file.string(),
                                     .class_names = std::move(names),
                                     .normalization = normal},
                                    std::move(records.labels), std::move(records.pixels),
                                    {.height = side, .width = side}));
  return data::open_custom_images(std::move(images), config, split);
}

const CustomDataSet cifar100 = {
    .traits = {.name = "cifar100", .channels = 3},
    .help = "its binary version",
    .keys = [](DataConfig& data) { return std::vector{custom_key(data, labels)}; },
    .open = open_cifar100};

} // namespace

int main(int argc, char** argv) {
  return troupe::app::run_program(argc, argv, {.data_sets = {cifar100}});
}
