// Word tables of the English–French grammar. Part of grammar.cpp; lessons include grammar.hpp instead.
#pragma once

#include <array>

namespace tapestry::kit::lexicon {

enum class Gender { masculine, feminine };

struct Noun {
  const char *english, *english_plural;
  const char *french, *french_plural;
  Gender gender;
};

/// Countable nouns.
inline constexpr std::array<Noun, 12> kNouns = {{
    {"man", "men", "homme", "hommes", Gender::masculine},
    {"woman", "women", "femme", "femmes", Gender::feminine},
    {"child", "children", "enfant", "enfants", Gender::masculine},
    {"friend", "friends", "ami", "amis", Gender::masculine},
    {"cat", "cats", "chat", "chats", Gender::masculine},
    {"tree", "trees", "arbre", "arbres", Gender::masculine},
    {"house", "houses", "maison", "maisons", Gender::feminine},
    {"school", "schools", "école", "écoles", Gender::feminine},
    {"door", "doors", "porte", "portes", Gender::feminine},
    {"zone", "zones", "zone", "zones", Gender::feminine},
    {"city", "cities", "ville", "villes", Gender::feminine},
    {"book", "books", "livre", "livres", Gender::masculine},
}};

/// Uncountable nouns, which follow "of" without an article.
inline constexpr std::array<Noun, 5> kUncountableNouns = {{
    {"control", "control", "contrôle", "contrôle", Gender::masculine},
    {"energy", "energy", "énergie", "énergie", Gender::feminine},
    {"water", "water", "eau", "eau", Gender::feminine},
    {"music", "music", "musique", "musique", Gender::feminine},
    {"art", "art", "art", "art", Gender::masculine},
}};

struct Adjective {
  const char* english;
  const char *masculine, *feminine, *masculine_plural, *feminine_plural;
  const char* masculine_before_vowel;
};

/// Adjectives before their noun in French.
inline constexpr std::array<Adjective, 4> kBefore = {{
    {"small", "petit", "petite", "petits", "petites", "petit"},
    {"big", "grand", "grande", "grands", "grandes", "grand"},
    {"pretty", "joli", "jolie", "jolis", "jolies", "joli"},
    {"old", "vieux", "vieille", "vieux", "vieilles", "vieil"},
}};

/// Adjectives after their noun in French.
inline constexpr std::array<Adjective, 7> kAfter = {{
    {"red", "rouge", "rouge", "rouges", "rouges", ""},
    {"green", "vert", "verte", "verts", "vertes", ""},
    {"round", "rond", "ronde", "ronds", "rondes", ""},
    {"open", "ouvert", "ouverte", "ouverts", "ouvertes", ""},
    {"modern", "moderne", "moderne", "modernes", "modernes", ""},
    {"quiet", "tranquille", "tranquille", "tranquilles", "tranquilles", ""},
    {"international", "international", "internationale", "internationaux", "internationales", ""},
}};

struct Verb {
  const char *english, *english_plural;
  const char *french, *french_plural;
};

/// Transitive verbs.
inline constexpr std::array<Verb, 6> kTransitive = {{
    {"sees", "see", "voit", "voient"},
    {"loves", "love", "aime", "aiment"},
    {"finds", "find", "trouve", "trouvent"},
    {"watches", "watch", "regarde", "regardent"},
    {"draws", "draw", "dessine", "dessinent"},
    {"follows", "follow", "suit", "suivent"},
}};

/// Intransitive verbs.
inline constexpr std::array<Verb, 4> kIntransitive = {{
    {"sleeps", "sleep", "dort", "dorment"},
    {"sings", "sing", "chante", "chantent"},
    {"waits", "wait", "attend", "attendent"},
    {"falls", "fall", "tombe", "tombent"},
}};

struct Determiner {
  const char *english, *english_plural;  ///< "" if there is no such form
  const char *masculine, *feminine, *plural;
  const char* before_vowel_masculine;
  const char* before_vowel_feminine;
};

/// The first is "the", which contracts with "de"; the second is "a", which becomes "an" before a vowel.
inline constexpr std::array<Determiner, 7> kDeterminers = {{
    {"the", "the", "le", "la", "les", "l'", "l'"},
    {"a", "", "un", "une", "", "un", "une"},
    {"this", "these", "ce", "cette", "ces", "cet", "cette"},
    {"my", "my", "mon", "ma", "mes", "mon", "mon"},
    {"our", "our", "notre", "notre", "nos", "notre", "notre"},
    {"every", "", "chaque", "chaque", "", "chaque", "chaque"},
    {"", "two", "", "", "deux", "", ""},
}};

struct Preposition {
  const char* english;
  const char* french;
  bool with_de;  ///< the next phrase begins with "de", which contracts with the article
};

inline constexpr std::array<Preposition, 4> kPlaces = {{
    {"in", "dans", false},
    {"under", "sous", false},
    {"behind", "derrière", false},
    {"near", "près", true},
}};

/// Names that both languages spell alike. None begins with a vowel or h, so "de" is never elided.
inline constexpr std::array<const char*, 24> kNames = {{
    "bruno",  "camille", "clara", "diego", "fatima", "gustav", "julie",  "karim",
    "kofi",   "luca",    "lucie", "marie", "mina",   "nadia",  "noor",   "paul",
    "pierre", "quentin", "rosa",  "samir", "tessa",  "tom",    "victor", "zoe",
}};

struct HeldOut {
  const char *adjective, *noun;
};

/// Pairs that are never in the training split. Each word is common in other pairs.
inline constexpr std::array<HeldOut, 12> kHeldOut = {{
    {"international", "control"},
    {"green", "energy"},
    {"red", "water"},
    {"modern", "music"},
    {"red", "door"},
    {"round", "cat"},
    {"round", "tree"},
    {"quiet", "woman"},
    {"modern", "school"},
    {"international", "city"},
    {"open", "book"},
    {"old", "friend"},
}};

}  // namespace tapestry::kit::lexicon
