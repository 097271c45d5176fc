/// Makes a ForeignDocument of what a reader of YAML or JSON meets, within bounds: a file from
/// outside may be made to take all memory.
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

  /// The next value has this name. False: a problem ends the reading.
  bool name(std::string_view name, int line, int column);
  bool open_mapping();
  bool close_mapping();
  bool open_list();
  bool close_list();
  bool scalar(ForeignKind kind, std::string text);
  /// Ends the reading; false, to return.
  bool fail(int line, int column, std::string what);
  /// Where the value stands that is read now.
  int line() const { return line_; }
  int column() const { return column_; }

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
  std::string path_; ///< of the value that is read now
  int line_ = 1, column_ = 1;
  int lists_ = 0; ///< how deep in lists, in which names count for nothing
  std::size_t depth_ = 0, values_ = 0;
};

} // namespace troupe
