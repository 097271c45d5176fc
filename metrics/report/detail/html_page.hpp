/// What the pages of a run and of a comparison are made of. Texts are escaped where it says so.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troupe::metrics {

/// A whole file around a body; the title is escaped.
std::string html_page(std::string_view title, std::string_view body);

/// A card with a heading; `note` stands below in small print.
std::string html_section(std::string_view title, std::string_view content,
                         std::string_view note = {}, bool wide = false);

/// Cells are escaped; `kind` is a class of the style sheet.
std::string html_table(std::string_view kind, const std::vector<std::string>& head,
                       const std::vector<std::vector<std::string>>& rows);

} // namespace troupe::metrics
