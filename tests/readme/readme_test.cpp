// The pages' code runs, and is here word for word; what they link to exists, and the README stays short.

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/core.hpp"
#include "core/tensor/map.hpp"
#include "nn/attention/attention.hpp"
#include "nn/linear.hpp"
#include "tests/catch.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;

namespace {

// What stands between "// README" and "// end" stands in the README, or in a page, too.

// README
// y = x / (1 + |x|)        ∂x = dy ⊙ (1 − |y|)²
Tensor softsign(const Tensor& x, CallSite at = {}) {
  return op<"softsign">(at, map(x, [](auto v) { return v / (1 + abs(v)); }),
                        wrt(x, [](const Tensor& dy, const Tensor& y) {
                          const Tensor slope = 1.0 - abs(y);
                          return dy * slope * slope;
                        }));
}
// end

// README
struct Gated : Module {
  Linear gate;
  Parameter scale;

  explicit Gated(Size width) : gate{{*this, "gate"}, width, width}, scale{*this, "scale", {width}, ones} {}
  Tensor operator()(const Tensor& x) const { return scale * x * sigmoid(gate(x)); }
};

GradcheckResult check_gated() {
  Gated layer(5);
  layer.initialise(1, DType::f64);  // a parameter's values depend on the seed and its name
  const Tensor x = random_normal({3, 5}, 2, DType::f64);
  return gradcheck([&](const Tensor& in) { return layer(in); }, x, layer.parameters());
}
// end

// README
// The score is a negative distance, so keys near the query get large weights.
Attention by_distance() {
  return Attention{[](const Tensor& query, const Tensor& key) {
    const Tensor apart = unsqueeze(query, -2) - unsqueeze(key, -3);  // (…, Tq, Tk, d)
    return -sum(abs(apart), {-1});
  }};
}
// end

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}
const std::filesystem::path kTop = TAPESTRY_SOURCE_DIR;

/// All pages of the project.
std::vector<std::filesystem::path> pages() {
  std::vector<std::filesystem::path> found{kTop / "README.md"};
  for (const char* folder : {"core", "nn", "optim", "lessons", "tests"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kTop / folder))
      if (entry.path().extension() == ".md") found.push_back(entry.path());
  return found;
}

/// What stands between a line `begin` and the next line `end`, as often as there are such; what all of its
/// lines are indented by is dropped.
std::vector<std::string> blocks(const std::string& text, const std::string& begin, const std::string& end) {
  std::istringstream lines(text);
  std::vector<std::string> found, block;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t indent = line.find_first_not_of(' ');
    const std::string rest = indent == std::string::npos ? "" : line.substr(indent);
    if (!inside) {
      inside = rest == begin;
    } else if (rest != end) {
      block.push_back(line);
    } else {
      std::size_t common = std::string::npos;
      for (const std::string& one : block) common = std::min(common, one.find_first_not_of(' '));
      found.emplace_back();
      for (const std::string& one : block) found.back() += (one.empty() ? "" : one.substr(common)) + "\n";
      block.clear();
      inside = false;
    }
  }
  CHECK_FALSE(inside);
  return found;
}

/// A page's text without its blocks of code, line by line.
std::string without_code(const std::string& text) {
  std::istringstream lines(text);
  std::string line, kept;
  bool code = false;
  while (std::getline(lines, line)) {
    const bool fence =
        line.find_first_not_of(' ') == line.find("```") && line.find("```") != std::string::npos;
    if (fence) code = !code;
    if (!code && !fence) kept += line + "\n";
  }
  return kept;
}

/// What a link to a heading is called: lower case, blanks as hyphens, without punctuation.
std::set<std::string> headings(const std::string& text) {
  std::istringstream lines(without_code(text));
  std::set<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind('#', 0) != 0) continue;
    std::string name;
    for (const char c : line.substr(line.find_first_not_of("# "))) {
      if (c == ' ' || c == '-') name += '-';
      if (std::isalnum(static_cast<unsigned char>(c)))
        name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    found.insert(name);
  }
  return found;
}

}  // namespace

TEST_CASE("the README's op is right, twice") {
  const Tensor x = random_normal({4, 9}, 1, DType::f64);
  const std::vector<double> in = x.to_vector(), out = softsign(x).to_vector();
  for (std::size_t i = 0; i < in.size(); ++i) CHECK(out[i] == Approx(in[i] / (1 + std::abs(in[i]))));
  const auto f = [](const Tensor& v) { return softsign(v); };
  const GradcheckResult once = gradcheck(f, x), twice = gradgradcheck(f, x);
  INFO(once.report() << twice.report());
  CHECK(once.ok());
  CHECK(twice.ok());
}

TEST_CASE("the README's layer passes, and a part that is cut off is found") {
  const GradcheckResult good = check_gated();
  INFO(good.report());
  CHECK(good.ok());

  Gated layer(5);
  layer.initialise(1, DType::f64);
  const auto cut = [&](const Tensor& in) { return layer.scale * in.detach() * sigmoid(layer.gate(in)); };
  CHECK_THAT(gradcheck(cut, random_normal({3, 5}, 2, DType::f64), layer.parameters()).report(),
             ContainsSubstring("FAILED"));
}

TEST_CASE("the README's attention looks at near keys, under a mask too") {
  const Attention attention = by_distance();
  const Tensor keys = tensor({{0, 0}, {5, 5}, {9, 9}}, DType::f64),
               values = tensor({{1}, {2}, {3}}, DType::f64);
  const AttentionOutput near = attention(tensor({{5, 4}}, DType::f64), keys, values);
  CHECK(near.weights.at({0, 1}) == Approx(std::exp(-1) / (std::exp(-9) + std::exp(-1) + std::exp(-9))));
  const Mask mask = Mask::from(1, 3, [](Size, Size key) { return key != 1; });
  const AttentionOutput masked = attention(tensor({{5, 4}}, DType::f64), keys, values, mask);
  CHECK(masked.weights.at({0, 1}) == 0);
  CHECK(masked.context.item() == Approx(2));
  const GradcheckResult found = gradcheck(
      [&](const Tensor& q, const Tensor& k, const Tensor& v) {
        return attention(q, k, v, ValidLengths{2, 4}).context;
      },
      {random_normal({2, 3, 5}, 1, DType::f64), random_normal({2, 4, 5}, 2, DType::f64),
       random_normal({2, 4, 2}, 3, DType::f64)});
  INFO(found.report());
  CHECK(found.ok());
}

TEST_CASE("the pages hold the code that is tested, and no complete block that is not") {
  std::vector<std::string> tested;
  for (const char* file : {"readme/readme_test.cpp", "readme/own_attention_test.cpp",
                           "lessons/26_programmable/page_mechanism_test.cpp"})
    for (const std::string& block : blocks(read(kTop / "tests" / file), "// README", "// end"))
      tested.push_back(block);
  CHECK(tested.size() == 8);
  const std::string program = read(kTop / "tests" / "package" / "main.cpp");
  tested.push_back(program.substr(program.find("#include")));
  CHECK(read(kTop / "README.md").find(tested.back()) != std::string::npos);

  std::map<std::string, int> shown;
  for (const auto& page : pages())
    for (const std::string& block : blocks(read(page), "```cpp", "```")) ++shown[block];
  for (const std::string& block : tested) {
    INFO(block);
    CHECK(shown.count(block) == 1);
  }
  for (const auto& [block, times] : shown) {
    INFO(block);
    // The README shows the op, and core/ops/README.md explains it line by line.
    CHECK(times ==
          (block.find("Tensor softsign(const Tensor& x, CallSite at = {}) {") == block.npos ? 1 : 2));
    const bool complete = std::regex_search(block, std::regex(R"(\};?\s*$)"));
    const bool exercise = block.find("//= judge") != block.npos;  // lessons/grader/exercise_test.cpp reads it
    if (complete && !exercise) CHECK(std::count(tested.begin(), tested.end(), block) == 1);
  }
}

TEST_CASE("no sentence stands on two pages") {
  std::map<std::string, std::string> said;
  for (const auto& page : pages()) {
    std::istringstream lines(without_code(read(page)));
    for (std::string line; std::getline(lines, line);) {
      // A sentence ends at ". ", ": " or the line's end. Shorter ones may be alike by chance.
      for (std::size_t at = 0; at < line.size();) {
        const std::size_t end = std::min(line.size(), std::min(line.find(". ", at), line.find(": ", at)));
        std::string sentence = line.substr(at, end - at);
        at = end + 2;
        if (sentence.rfind("- ", 0) == 0) sentence.erase(0, 2);
        while (!sentence.empty() && (sentence.back() == '.' || sentence.back() == ':')) sentence.pop_back();
        std::istringstream words(sentence);
        if (std::distance(std::istream_iterator<std::string>(words), {}) < 9) continue;
        INFO(page.string() << ": " << sentence << "\nalso in " << said[sentence]);
        CHECK(said[sentence].empty());
        said[sentence] = page.string();
      }
    }
  }
  CHECK(said.size() > 200);
}

TEST_CASE("the glossary's terms are in alphabetical order, each once") {
  std::istringstream lines(read(kTop / "lessons" / "glossary.md"));
  std::string before;
  int terms = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| ", 0) != 0 || line.rfind("| term |", 0) == 0) continue;
    std::string term;  // in lower case, without punctuation
    for (const char c : line.substr(2, line.find(" |", 2) - 2)) {
      if (c == ' ' || c == '-' || c == '_') term += ' ';
      if (std::isalnum(static_cast<unsigned char>(c)))
        term += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    INFO(before << " and " << term);
    CHECK(before < term);
    before = term;
    ++terms;
  }
  CHECK(terms > 150);
}

TEST_CASE("what a page links to exists, file and heading, and no lesson is left out") {
  const std::regex link(R"(\]\(([^)\s]+)\))");
  int links = 0;
  for (const auto& page : pages()) {
    const std::string text = without_code(read(page));
    for (std::sregex_iterator i(text.begin(), text.end(), link), last; i != last; ++i) {
      const std::string target = (*i)[1].str();
      if (target.rfind("http", 0) == 0) continue;
      INFO(page.string() << " links to " << target);
      const std::size_t hash = target.find('#');
      const std::filesystem::path file = hash == 0 ? page : page.parent_path() / target.substr(0, hash);
      CHECK(std::filesystem::exists(file));
      if (hash != std::string::npos) CHECK(headings(read(file)).count(target.substr(hash + 1)) == 1);
      ++links;
    }
  }
  CHECK(links > 50);
  const std::string readme = read(kTop / "README.md");
  for (const auto& entry : std::filesystem::directory_iterator(kTop / "lessons")) {
    const std::string slug = entry.path().filename().string();
    if (!std::filesystem::exists(entry.path() / "lesson.cpp")) continue;
    INFO(slug);
    CHECK(readme.find("](lessons/" + slug + "/lesson.cpp)") != std::string::npos);
  }
}

TEST_CASE("the README is read in one visit, and every page is one click away") {
  const std::string readme = read(kTop / "README.md");
  std::istringstream words(readme);
  CHECK(std::distance(std::istream_iterator<std::string>(words), {}) <= 3000);
  for (const auto& page : pages()) {
    const std::string path = std::filesystem::relative(page, kTop).generic_string();
    INFO(path);
    if (path != "README.md" && path != "tests/golden/README.md")
      CHECK(readme.find("](" + path + ")") != std::string::npos);
  }
}
