#include "lessons/kit/translation/saved.hpp"

#include <fmt/format.h>

#include "lessons/kit/program/usage_error.hpp"
#include "lessons/kit/text/utf8.hpp"
#include "lessons/kit/train/resume.hpp"
#include "lessons/kit/translation/recurrent_config.hpp"
#include "lessons/kit/translation/training.hpp"
#include "lessons/kit/translation/transformer_config.hpp"

namespace tapestry::kit {
namespace {

std::unique_ptr<SequenceModel> model_of(const TrainingState& saved, Size source_words, Size target_words) {
  if (saved.has("layers"))  // a recurrent config has no "layers"
    return make_translator(transformer_plan_of(saved), source_words, target_words);
  return make_translator(translator_plan_of(saved), source_words, target_words);
}

/// Adapts typed words to the lexicon. An unknown word loses its trailing punctuation, which becomes separate words if
/// they are known, and is changed to lower case if only that is known.
Words as_known(const Words& typed, const Lexicon& lexicon) {
  Words words;
  for (const std::string& word : typed) {
    if (lexicon.contains(word)) {
      words.push_back(word);
      continue;
    }
    const std::size_t end = word.find_last_not_of(".,;:!?") + 1;
    const std::string bare = word.substr(0, end);
    std::string lower = bare;
    for (char& c : lower)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (!bare.empty()) words.push_back(lexicon.contains(lower) ? lower : bare);
    for (const char mark : word.substr(end))
      if (lexicon.contains({mark})) words.push_back({mark});
  }
  return words;
}

}  // namespace

SavedTranslator load_translator(const std::filesystem::path& checkpoint) {
  if (!std::filesystem::exists(checkpoint))
    throw UsageError(
        fmt::format("there is no trained model at {}; "
                    "train one first, with the same options but without --translate and --smoke",
                    checkpoint.string()));
  const TrainingState saved = load_checkpoint(checkpoint);
  const auto refuse = [&](const char* why) {
    throw UsageError(fmt::format("{} must be a translator's checkpoint ({})", checkpoint.string(), why));
  };
  SavedTranslator loaded;
  try {
    loaded.source = Lexicon::from(saved, "source", checkpoint.string());
    loaded.target = Lexicon::from(saved, "target", checkpoint.string());
    loaded.step = static_cast<Size>(saved.integer("step"));
    loaded.model = model_of(saved, loaded.source.size(), loaded.target.size());
    loaded.model->load_state(trained_weights(saved));
  } catch (const std::exception& error) {
    refuse(error.what());
  }
  loaded.model->eval();
  return loaded;
}

TranslatedSentence translate_sentence(const std::filesystem::path& checkpoint, const std::string& sentence,
                                      const TranslateOptions& how) {
  const UsageError nothing("--translate must have a sentence, such as --translate \"a man rides a bike\"");
  const Words typed = split_words(sentence);
  if (typed.empty()) throw nothing;
  TranslatedSentence result{load_translator(checkpoint), {}};
  const SavedTranslator& saved = result.translator;
  const Words words = as_known(typed, saved.source);
  if (words.empty()) throw nothing;
  for (const std::string& word : words)
    if (!saved.source.contains(word))
      fmt::print("  \"{}\" is not in the vocabulary; the model gets <unk> instead\n",
                 cut_to(printable(word), 60));
  result.written = translate(*saved.model, saved.source, saved.target, {words}, how).front();
  return result;
}

std::filesystem::path folder_to_translate_with(const std::filesystem::path& multi30k,
                                               const std::filesystem::path& grammar,
                                               bool asked_for_multi30k) {
  return asked_for_multi30k || std::filesystem::exists(checkpoint_in(multi30k)) ? multi30k : grammar;
}

std::filesystem::path checkpoint_in(const std::filesystem::path& folder) {
  return folder / "checkpoint.safetensors";
}

}  // namespace tapestry::kit
