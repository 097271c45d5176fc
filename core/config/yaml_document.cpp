#include "core/config/yaml_document.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <sstream>

namespace troupe {

namespace {

/// Records where documents start.
class DocumentStarts : public YAML::EventHandler {
public:
  YAML::Mark last;

  void OnDocumentStart(const YAML::Mark& mark) override { last = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

std::size_t begin_of_line(const std::string& text, int line) {
  std::size_t begin = 0;
  for (; line > 0 && begin < text.size(); --line)
    begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
  return begin;
}

/// Returns the location of a tab in the indentation of the line where yaml-cpp stopped: its own
/// errors rarely name it.
std::optional<YAML::Mark> tab_of_indentation(const std::string& text, YAML::Mark at) {
  const auto begin = begin_of_line(text, at.line);
  const auto tab = text.find_first_not_of(' ', begin);
  if (tab == text.npos || text[tab] != '\t')
    return std::nullopt;
  at.column = static_cast<int>(tab - begin);
  return at;
}

YamlProblem problem_of(const YAML::Exception& error, const std::string& text) {
  if (const auto tab = error.mark.is_null() ? std::nullopt : tab_of_indentation(text, error.mark))
    return {*tab, "not YAML: a tab in the indentation; YAML allows only spaces there"};
  return {error.mark, "not YAML: " + error.msg};
}

} // namespace

bool is_merge_key(const YAML::Node& key) {
  return key.IsScalar() && key.Scalar() == "<<" && key.Tag() == "?"; // not in quotes
}

tl::expected<YAML::Node, YamlProblem> load_yaml_document(const std::string& text) {
  try { // yaml-cpp reports errors only as exceptions
    auto node = YAML::Load(text);
    // Not LoadAll: yaml-cpp 0.7 never returns from it when a stray bracket follows the document.
    std::istringstream stream{text};
    YAML::Parser parser{stream};
    DocumentStarts starts;
    if (parser.HandleNextDocument(starts) && parser.HandleNextDocument(starts))
      return tl::unexpected(
          YamlProblem{starts.last, "a second document, or text after the end of the first"});
    return node;
  } catch (const YAML::Exception& error) {
    return tl::unexpected(problem_of(error, text));
  }
}

} // namespace troupe
