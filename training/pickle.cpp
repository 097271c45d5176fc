#include "training/pickle.hpp"

#include "core/escape.hpp"

#include <fmt/format.h>

#include <fstream>

namespace troupe::training {

namespace {

/// Recognizes a ZIP archive (torch.save since version 1.6) and a bare pickle (before).
bool is_pickle(const std::filesystem::path& path) {
  std::string begin(4, '\0');
  std::ifstream file{path, std::ios::binary};
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return file && (begin == "PK\x03\x04" || begin.starts_with("\x80\x02") ||
                  begin.starts_with("\x80\x03") || begin.starts_with("\x80\x04"));
}

} // namespace

std::optional<std::string> pickle_advice(const std::filesystem::path& path) {
  if (!is_pickle(path))
    return std::nullopt;
  const auto from = escaped(path.string());
  const auto to = escaped(std::filesystem::path{path}.replace_extension(".safetensors").string());
  return fmt::format("{} is a pickle file, as torch.save writes it. Loading a pickle can execute "
                     "arbitrary code, so troupe does not read it. To convert it, run in Python:\n  "
                     "import torch, safetensors.torch\n  weights = torch.load(\"{}\", "
                     "map_location=\"cpu\", weights_only=True)\n  safetensors.torch.save_file({{k: "
                     "v.contiguous() for k, v in weights.items()}}, \"{}\")",
                     from, from, to);
}

} // namespace troupe::training
