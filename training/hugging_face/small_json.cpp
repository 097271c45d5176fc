#include "training/hugging_face/small_json.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"

namespace troupe::training {

Result<ForeignDocument> read_small_json(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) // opening a pipe would block
    return fail(Errc::invalid_input, "{} is not a regular file", escaped(path.string()));
  auto document = read_foreign_file(path, read_foreign_json);
  if (!document)
    return failure(to_error(document.error()));
  return *std::move(document);
}

} // namespace troupe::training
