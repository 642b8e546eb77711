// Writes a picture to disk and prints its drawing on standard output.
#include "lessons/kit/picture/picture.hpp"

#include <iostream>

#include "lessons/kit/program/files.hpp"

namespace tapestry::kit {

void show_text(const std::string& drawing, const std::filesystem::path& file) {
  std::cout << '\n' << drawing << "  picture: " << file.string() << '\n' << std::flush;
}

void save_svg(const std::string& document, const std::filesystem::path& file) {
  write_atomically(file, document);
}

}  // namespace tapestry::kit
