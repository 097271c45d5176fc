/// Detects files of torch.save. They are not read, because a pickle may run any program.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace troupe::training {

/// Returns how to convert a pickle file (.pth, .pt, .bin); nothing for other files.
std::optional<std::string> pickle_advice(const std::filesystem::path& path);

} // namespace troupe::training
