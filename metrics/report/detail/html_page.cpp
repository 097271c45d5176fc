#include "html_page.hpp"

#include "charts.hpp"
#include "html_style.hpp"
#include "palette.hpp"

#include <fmt/format.h>

namespace troupe::metrics {

std::string html_page(std::string_view title, std::string_view body) {
  return fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<title>{} – troupe</title>\n<style>{}{}</style>\n</head>\n<body>\n{}"
                     "</body>\n</html>\n",
                     escaped(title), html_style, palette_style(), body);
}

std::string html_section(std::string_view title, std::string_view content, std::string_view note,
                         bool wide) {
  auto text =
      fmt::format("<section{}><h2>{}</h2>{}", wide ? " class=\"wide\"" : "", title, content);
  if (!note.empty())
    text += fmt::format("<p class=\"note\">{}</p>", note);
  return text + "</section>\n";
}

std::string html_table(std::string_view kind, const std::vector<std::string>& head,
                       const std::vector<std::vector<std::string>>& rows) {
  std::string text = fmt::format("<div class=\"scroll\"><table class=\"{}\"><thead><tr>", kind);
  for (const auto& name : head)
    text += "<th>" + name + "</th>";
  text += "</tr></thead><tbody>";
  for (const auto& row : rows) {
    text += "<tr>";
    for (const auto& value : row)
      text += "<td>" + escaped(value) + "</td>";
    text += "</tr>";
  }
  return text + "</tbody></table></div>";
}

} // namespace troupe::metrics
