/// Readers of the tokenizer files that open.hpp describes.
#pragma once

#include "core/config/data.hpp"
#include "data/tokenizer/tokenizer.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>

namespace troupe::data {

/// `tokens` is the content of the vocabulary's file. Errors name the file and the line.
Result<TokenizerParts> read_gpt2(const std::filesystem::path& vocabulary,
                                 const nlohmann::json& tokens, const std::filesystem::path& merges,
                                 SplitRule split);

/// `root` is the content of the file.
Result<TokenizerParts> read_hugging_face(const std::filesystem::path& path,
                                         const nlohmann::json& root);

/// `split` is that of data.tokenizer.
Result<TokenizerParts> read_tiktoken(const std::filesystem::path& path, TokenizerSplit split);

} // namespace troupe::data
