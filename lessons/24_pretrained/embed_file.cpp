// A file, or standard input, as vectors: a line of numbers for each line of text (--embed-file).
#include "lessons/24_pretrained/embed_file.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string>

#include "core/ops/views.hpp"
#include "lessons/kit/text/line_reader.hpp"
#include "lessons/kit/text/line_writer.hpp"

namespace tapestry::kit {

void offer(Lesson& program, FileToEmbed& what) {
  program.add_filter("--embed-file", what.file,
                     "Make vectors of this file's lines (-: standard input), and nothing else: a line of "
                     "numbers, with tabs between them, for each line, an empty one too; --weights says by "
                     "which model, otherwise by the small one that was trained before");
  program.add("--output", what.output, "With --embed-file: where to; otherwise standard output");
}

void embed_file(const WordPiece& pieces, const Embed& embed, const FileToEmbed& what) {
  if (what.file != "-") count_lines(what.file);  // throws before anything is written
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
    fmt::print(stderr, "{}:{}{} more than {} pieces of words: only the first are in the vector\n",
               reader.origin(), first_shortened,
               shortened == 1 ? " has" : fmt::format(" and {} more have", shortened - 1),
               pieces.options().max_length - 2);
}

}  // namespace tapestry::kit
