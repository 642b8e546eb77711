// The small files of lesson 24: the sizes of a model as JSON, and the texts of the reference.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lessons/24_pretrained/lesson24.hpp"
#include "nn/text/lines.hpp"

namespace tapestry::lesson24 {

namespace {

constexpr const char *kConfig = "config.json", *kLengths = "sentence_bert_config.json";

nlohmann::json read_json(const fs::path& path) {
  const nlohmann::json found = nlohmann::json::parse(read_text(path), nullptr, false);
  if (!found.is_object())
    throw kit::UsageError(fmt::format("'{}' must contain a JSON object", path.string()));
  return found;
}

Size whole(const nlohmann::json& config, const char* name, const fs::path& path) {
  const auto found = config.find(name);
  if (found == config.end() || !found->is_number_integer() || *found < 1 || *found > 1'000'000)
    throw kit::UsageError(fmt::format("'{}' must contain the size \"{}\"", path.string(), name));
  return *found;
}

}  // namespace

Sizes read_sizes(const fs::path& folder) {
  const fs::path path = folder / kConfig;
  const nlohmann::json config = read_json(path);
  if (config.value("hidden_act", "") != "gelu" || config.value("model_type", "") != "bert")
    throw kit::UsageError(fmt::format("'{}' must describe a BERT with GELU", path.string()));
  const auto size = [&](const char* name) { return whole(config, name, path); };
  return {size("vocab_size"),        size("hidden_size"),
          size("num_hidden_layers"), size("num_attention_heads"),
          size("intermediate_size"), size("max_position_embeddings"),
          size("type_vocab_size"),   config.value("layer_norm_eps", 1e-12)};
}

Size read_longest(const fs::path& folder) {
  const fs::path path = folder / kLengths;
  return whole(read_json(path), "max_seq_length", path);
}

void write_sizes(const fs::path& folder, const Sizes& sizes, Size longest) {
  write_text(folder / kConfig, nlohmann::json{{"model_type", "bert"},
                                              {"hidden_act", "gelu"},
                                              {"vocab_size", sizes.vocabulary},
                                              {"hidden_size", sizes.width},
                                              {"num_hidden_layers", sizes.layers},
                                              {"num_attention_heads", sizes.heads},
                                              {"intermediate_size", sizes.hidden},
                                              {"max_position_embeddings", sizes.max_positions},
                                              {"type_vocab_size", sizes.segments},
                                              {"layer_norm_eps", sizes.epsilon}}
                                   .dump(1));
  write_text(folder / kLengths, nlohmann::json{{"max_seq_length", longest}}.dump());
}

std::vector<std::string> sentences_in(const SafeTensors& reference, const fs::path& file) {
  const auto noted = reference.metadata.find("sentences");
  const nlohmann::json sentences = noted == reference.metadata.end()
                                       ? nlohmann::json()
                                       : nlohmann::json::parse(noted->second, nullptr, false);
  if (!sentences.is_array())
    throw kit::UsageError(fmt::format("'{}' must list its sentences in its metadata", file.string()));
  return sentences;
}

}  // namespace tapestry::lesson24
