#include "core/config/problem.hpp"

#include "core/escape.hpp"

#include <fmt/format.h>

namespace troupe {

std::string ConfigProblem::to_string() const {
  std::string text = source;
  if (line > 0)
    text += fmt::format(":{}:{}", line, column);
  for (const auto& part : {echoed(key), what})
    if (!part.empty())
      text.append(text.empty() ? "" : ": ").append(part);
  if (!allowed.empty())
    text += "; allowed: " + allowed;
  if (!suggestion.empty())
    text += fmt::format("; did you mean \"{}\"?", echoed(suggestion));
  // Keeps a problem on one line, whatever the file contains.
  return escaped(text);
}

Error to_error(const std::vector<ConfigProblem>& problems) {
  std::string lines;
  for (const auto& problem : problems)
    lines.append(lines.empty() ? "" : "\n").append(problem.to_string());
  return Error{Errc::invalid_input, std::move(lines)};
}

} // namespace troupe
