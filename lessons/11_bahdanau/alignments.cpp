#include "lessons/11_bahdanau/alignments.hpp"

#include <string>

#include "core/core.hpp"
#include "lessons/kit/tensors.hpp"
#include "lessons/kit/translation/batches.hpp"

namespace tapestry::lesson11 {
namespace {

std::vector<kit::Strings> three_strings(const kit::Options& options) {
  std::vector<kit::Strings> strings;
  for (const Size length : {8, 14, 24}) strings.push_back(shown_strings(1, length, options));
  return strings;
}

/// Returns the titles and labels of the series, without its maps.
kit::MapSeries series_of(const std::vector<kit::Strings>& strings) {
  const kit::Vocabulary letters = kit::alphabet();
  kit::Choice choice{"letters", {}};
  for (const kit::Strings& one : strings) {
    const std::vector<std::string> read =
        letters.decode(kit::Ids(one.sources.ids.begin(), one.sources.ids.end() - 1));
    choice.of.push_back(std::to_string(read.size()));
    choice.rows.emplace_back(read.rbegin(), read.rend());
    choice.columns.push_back(read);
    choice.columns.back().push_back("<end>");
  }
  return {.title = "Attention weights for each output letter, during training",
          .column_axis = "source letters",
          .row_axis = "output letters",
          .choices = {choice}};
}

/// Returns the attention weights under teacher forcing, one row for each letter of the target without <end>.
std::vector<double> alignment_of(const Reverser& model, const kit::Strings& one) {
  const Encoded source = model.read(one.sources);
  const PreparedKV memory = model.decoder.prepare(source);
  DecoderState state = model.decoder.start(source);
  const Indices words = kit::indices(kit::teacher_forcing(one.targets).input);
  std::vector<double> map;
  for (Size t = 0; t + 1 < words.shape()[1]; ++t) {  // without the step that writes <end>
    const std::vector<double> row = model.decoder.step(words.column(t), state, memory).alignment.to_vector();
    map.insert(map.end(), row.begin(), row.end());
  }
  return map;
}

}  // namespace

kit::Strings shown_strings(Size count, Size length, const kit::Options& options) {
  return kit::draw_strings(kit::Random(options.seed, 2'000'000), count, length, length);
}

AlignmentRecorder::AlignmentRecorder(const kit::Options& options)
    : strings_(three_strings(options)),
      recorder_(series_of(strings_), options.steps, {0, 0.04, 0.06, 0.08, 0.16, 0.4, 1}) {}

void AlignmentRecorder::after(Size step, const Reverser& model) {
  recorder_.after(step, [&] {
    std::vector<std::vector<double>> maps;
    for (const kit::Strings& one : strings_) maps.push_back(alignment_of(model, one));
    return maps;
  });
}

}  // namespace tapestry::lesson11
