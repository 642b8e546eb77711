// Embeds the lines of a file or of standard input: one line of numbers for each line of text (--embed-file).
#include "lessons/24_pretrained/embed_file.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string>

#include "core/ops/views.hpp"
#include "lessons/kit/text/line_reader.hpp"
#include "lessons/kit/text/line_writer.hpp"

namespace tapestry::kit {

void add_options(Lesson& program, FileToEmbed& what) {
  program.add_filter(
      "--embed-file", what.file,
      "Embed the lines of this file (-: standard input) and do nothing else: write one line of "
      "numbers, separated by tabs, for each line, also for an empty one. The model is that of "
      "--weights, or otherwise the small one that the lesson trained before");
  program.add("--output", what.output, "With --embed-file: the output file (default: standard output)");
}

void embed_file(const WordPiece& pieces, const Embed& embed, const FileToEmbed& what) {
  if (what.file != "-") count_lines(what.file);  // throws for an invalid line before anything is written
  LineReader reader(what.file);
  LineWriter writer(what.output);
  std::size_t shortened = 0, first_shortened = 0;
  for (auto lines = reader.group(); !lines.empty(); lines = reader.group()) {
    std::vector<Ids> rows;
    for (const std::string& line : lines) {
      rows.push_back(pieces.encode(line));
      const bool full = static_cast<Size>(rows.back().size()) == pieces.options().max_length;
      if (full && pieces.pieces_of(line).size() + 2 > rows.back().size() && shortened++ == 0)
        first_shortened = reader.number() - lines.size() + rows.size();
    }
    const Tensor vectors = embed(rows);
    for (Size i = 0; i < static_cast<Size>(rows.size()); ++i) {
      std::string text;
      for (const double number : select(vectors, 0, i).to_vector())
        fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : "\t",
                       static_cast<float>(number));
      writer.line(text);
    }
    writer.flush();
  }
  writer.finish();
  if (shortened > 0)
    fmt::print(stderr, "{}:{}{} more than {} pieces; only the first ones are in the vector\n",
               reader.origin(), first_shortened,
               shortened == 1 ? " has" : fmt::format(" and {} more have", shortened - 1),
               pieces.options().max_length - 2);
}

}  // namespace tapestry::kit
