// print_page live | standalone: prints the page that the program contains; a standalone page has
// the document that is read from stdin.
#include "metrics/page/page.hpp"

#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

int main(int count, char** words) {
  const std::string_view kind = count == 2 ? words[1] : "";
  if (kind == "live") {
    std::cout << troupe::metrics::live_page();
    return 0;
  }
  if (kind != "standalone") {
    std::cerr << "usage: print_page live | standalone <DOCUMENT\n";
    return 2;
  }
  const std::string document{std::istreambuf_iterator<char>{std::cin}, {}};
  std::cout << troupe::metrics::standalone_page(document);
  return 0;
}
