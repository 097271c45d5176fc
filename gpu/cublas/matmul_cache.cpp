#include "gpu/cublas/matmul_cache.hpp"

#include "gpu/detail/cache_entry.hpp"

#include <fmt/format.h>

#include <charconv>

namespace troupe::gpu {

namespace {

constexpr std::size_t digits = 16; ///< per word

std::string to_text(const cublasLtMatmulAlgo_t& algorithm) {
  std::string text;
  for (const auto word : algorithm.data)
    text += fmt::format("{:0{}x}", word, digits);
  return text;
}

/// Inverse of to_text().
cublasLtMatmulAlgo_t from_text(const std::string& text) {
  cublasLtMatmulAlgo_t algorithm = {};
  const auto* at = text.data();
  for (auto& word : algorithm.data) {
    std::from_chars(at, at + digits, word, 16);
    at += digits;
  }
  return algorithm;
}

} // namespace

std::string MatmulCache::key_of(const MatmulOptions& options) const {
  return fmt::format("{} | {}, workspace {}", device_, to_string(options), options.workspace_bytes);
}

std::filesystem::path MatmulCache::path_of(const MatmulOptions& options) const {
  return entry_path(folder_, key_of(options));
}

std::optional<KnownAlgorithm> MatmulCache::find(const MatmulOptions& options) const {
  const auto entry = read_entry(folder_, key_of(options));
  if (!entry.is_object())
    return std::nullopt;
  const auto text = entry.value("algorithm", nlohmann::json());
  const auto time = entry.value("microseconds", nlohmann::json());
  if (!text.is_string() || !time.is_number() ||
      entry.value("sha256", nlohmann::json()) != digest(text.get<std::string>()))
    return std::nullopt;
  return KnownAlgorithm{from_text(text.get<std::string>()), time.get<double>()};
}

Status MatmulCache::store(const MatmulOptions& options, const KnownAlgorithm& algorithm) const {
  const auto text = to_text(algorithm.value);
  return write_entry(folder_, key_of(options),
                     {{"name", to_string(options)},
                      {"microseconds", algorithm.microseconds},
                      {"sha256", digest(text)},
                      {"algorithm", text}});
}

} // namespace troupe::gpu
