/// Files of torch.save, which are not read: a pickle may run any program.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace troupe::training {

/// How to convert a file, if it is one of these (.pth, .pt, .bin).
std::optional<std::string> pickle_advice(const std::filesystem::path& path);

} // namespace troupe::training
