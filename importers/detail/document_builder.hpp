/// Builds a ForeignDocument from the events of a YAML or JSON reader. Limits its size, because an
/// untrusted file could exhaust memory.
#pragma once

#include "importers/document.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

class ForeignBuilder {
public:
  explicit ForeignBuilder(std::string source) { document_.source = std::move(source); }

  /// Names the next value. Returns false if a problem ends the reading.
  bool name(std::string_view name, int line, int column);
  bool open_mapping();
  bool close_mapping();
  bool open_list();
  bool close_list();
  bool scalar(ForeignKind kind, std::string text);
  /// Adds a problem that ends the reading. Always returns false.
  bool fail(int line, int column, std::string what);

  ForeignResult finish();

private:
  struct Level {
    std::string path;
    std::map<std::string, int, std::less<>> names; ///< with the line of each
  };

  bool add(ForeignKind kind, std::string text);
  bool count();

  ForeignDocument document_;
  std::vector<ConfigProblem> problems_;
  std::vector<Level> levels_;
  std::string path_; ///< of the value that is being read
  int line_ = 1, column_ = 1;
  int lists_ = 0; ///< depth of lists, inside which names are ignored
  std::size_t depth_ = 0, values_ = 0;
};

} // namespace troupe
