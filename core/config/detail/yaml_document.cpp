#include "yaml_document.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <sstream>

namespace troupe {

namespace {

/// Sees where documents start, and nothing else.
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

} // namespace

tl::expected<YAML::Node, YamlProblem> load_yaml_document(const std::string& text) {
  try { // exceptions are the one way yaml-cpp reports errors
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
    return tl::unexpected(YamlProblem{error.mark, "not YAML: " + error.msg});
  }
}

} // namespace troupe
