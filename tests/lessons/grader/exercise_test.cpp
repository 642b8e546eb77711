// The form of an exercise's source, and what is derived from it.
#include "lessons/grader/exercise.hpp"

#include <fstream>

#include "core/tensor/error.hpp"
#include "tests/catch.hpp"
#include "tests/temporary.hpp"

namespace tapestry::grader {
namespace {

const std::string kSource = R"(// 3.2 half: half of a number
// implement, 5 minutes, limit 20 s
//
// Give half of x.
//
//     y = x / 2
#include "lessons/grader/answer.hpp"

double half(double x) {
  //[ one line
  //: return not_written_yet();
  const double two = 2;  // exact
  return x / two;
  //]
}

// hint: what is
//   two halves?
// hint: x / __
//
// wrong: Twice, not half.
// - return x / two;
// + return x * two;
// wrong: Nothing happens.
// - const double two = 2;
// - return x / two;
// + return x;

//= judge
void judge(Judge&) {}
)";

struct Course {
  test::TemporaryFolder root;
  std::filesystem::path path = "lessons/03_training/exercises/2_half.cpp";

  Exercise read(const std::string& text) {
    std::filesystem::create_directories((root / path.string()).parent_path());
    std::ofstream(root / path.string()) << text;
    return read_exercise(root.path(), path);
  }
  std::string refusal(const std::string& from, const std::string& to) {
    std::string text = kSource;
    REQUIRE(text.find(from) != std::string::npos);
    text.replace(text.find(from), from.size(), to);
    try {
      read(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("an exercise's source is read, every part of it", "[grader]") {
  const Exercise exercise = Course().read(kSource);
  CHECK(exercise.id.text() == "3.2");
  CHECK(exercise.name == "half");
  CHECK(exercise.title == "half of a number");
  CHECK(exercise.kind == "implement");
  CHECK(exercise.minutes == 5);
  CHECK(exercise.limit == 20);
  CHECK_FALSE(exercise.fast);
  CHECK(exercise.task == "Give half of x.\n\n    y = x / 2\n");
  CHECK(exercise.hints == std::vector<std::string>{"what is\ntwo halves?", "x / __"});
  REQUIRE(exercise.wrong.size() == 2);
  CHECK(exercise.wrong[1].sentence == "Nothing happens.");
  CHECK(exercise.judge == "void judge(Judge&) {}\n");
  CHECK(exercise.judge_line == 30);
  CHECK(exercise.folder == "03_training");
  CHECK(exercise.holes() == "  const double two = 2;  // exact\n  return x / two;\n");
  CHECK(exercise.is_of_lesson("3"));
  CHECK(exercise.is_of_lesson("03"));
  CHECK_FALSE(exercise.is_of_lesson("2"));
}

TEST_CASE("the given file, the solution and wrong answers come from one source", "[grader]") {
  const Exercise exercise = Course().read(kSource);
  const std::string head =
      "// 3.2 half: half of a number\n// implement, about 5 minutes\n//\n// Give half of x.\n//\n//     y = x / 2\n"
      "#include \"lessons/grader/answer.hpp\"\n\ndouble half(double x) {\n  // ↓ your code: one line\n";
  CHECK(exercise.given() == head + "  return not_written_yet();\n  // ↑\n}\n");
  CHECK(exercise.solution() == head + "  const double two = 2;  // exact\n  return x / two;\n  // ↑\n}\n");
  CHECK(exercise.with(exercise.wrong[0]) ==
        head + "  const double two = 2;  // exact\n  return x * two;\n  // ↑\n}\n");
  CHECK(exercise.with(exercise.wrong[1]) == head + "  return x;\n  // ↑\n}\n");
}

TEST_CASE("a piece of the engine is a header, and names those that it builds on", "[grader]") {
  std::string text = kSource;
  text.replace(text.find("limit 20 s"), 10, "limit 20 s, fast, piece half_of.hpp");
  text.replace(text.find("#include"), 0, "#include \"engine/tape.hpp\"\n#include \"engine/shapes.hpp\"\n");
  const Exercise exercise = Course().read(text);
  CHECK(exercise.piece == "half_of.hpp");
  CHECK(exercise.fast);
  CHECK(exercise.limit == 20);
  CHECK(holds(exercise.given(), "// implement, about 5 minutes; part of your engine: engine/half_of.hpp\n"));
  CHECK(pieces_in(exercise.given()) == std::vector<std::string>{"tape.hpp", "shapes.hpp"});
  CHECK(pieces_in(kSource).empty());
  CHECK(Course().read(kSource).piece.empty());
  CHECK(holds(Course().refusal("limit 20 s", "piece ../tape.hpp"), "2_half.cpp:2: the second line must be"));
  CHECK(holds(Course().refusal("limit 20 s", "piece tape"), "2_half.cpp:2: the second line must be"));
}

TEST_CASE("the exercise that the page on exercises shows is one", "[grader]") {
  std::ifstream file(TAPESTRY_SOURCE_DIR "/lessons/grader/README.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  const std::size_t begin = page.find("```cpp\n") + 7;
  const Exercise exercise = parse_exercise("lessons/01_tape/exercises/9_slope.cpp",
                                           page.substr(begin, page.find("```", begin) - begin));
  CHECK(exercise.id.text() == "1.9");
  CHECK(exercise.hints.size() == 2);
  CHECK(exercise.wrong.size() == 2);
}

TEST_CASE("a source of another form is refused with its line", "[grader]") {
  Course course;
  CHECK(holds(course.refusal("// 3.2 half:", "// half:"), "2_half.cpp:1: the first line must be"));
  CHECK(holds(course.refusal("implement,", "guess,"), "2_half.cpp:2: the second line must be"));
  CHECK(holds(course.refusal("  //]\n", ""), "every hole must end with"));
  CHECK(holds(course.refusal("  //[ one line\n", ""), "2_half.cpp:13: \"//]\" must follow"));
  CHECK(holds(course.refusal("//= judge", ""), "the judge begins with"));
  CHECK(holds(course.refusal("// - return x / two;\n// + return x * two;", "// - return y;"),
              "must occur in the solution"));
  CHECK(holds(course.refusal("  return x / two;\n  //]", "  return x / two;\n  return x / two;\n  //]"),
              "exactly once"));
  CHECK(holds(course.refusal("// - return x / two;\n// + return x * two;\n", ""),
              "must be followed by lines with"));
  CHECK(holds(course.refusal("// + return x * two;\n", "// + return x * two;\n// - return y;\n"),
              "may follow the first of these"));
  CHECK(holds(course.refusal("3.2", "3.4"), "must be in lesson 03 as exercises/4_half.cpp"));
  CHECK(holds(course.refusal("3.2", "4.2"), "must be in lesson 04"));
}

TEST_CASE("macros and includes of an answer are found as a preprocessor finds them", "[grader]") {
  using Found = std::vector<std::pair<std::string, int>>;
  CHECK(macros_of(
            "int a;\n#define same(x) 1\n  #  define\tclaim\n%:define one\n#undef two\n#def\\\nine three\n") ==
        Found{{"same", 2}, {"claim", 3}, {"one", 4}, {"three", 6}, {"two", 5}});
  CHECK(macros_of("// #define no\nint define;\n#defined\n#define\n").empty());
  CHECK(includes_of("#include \"a.hpp\"\n# include\\\n \"b.hpp\"\n#include <c>\n") ==
        Found{{"a.hpp", 1}, {"b.hpp", 2}});
  CHECK(has_word("judge.same(x)", "same"));
  CHECK_FALSE(has_word("judge.same_as(x) unsame", "same"));
  CHECK_FALSE(has_word("", "same"));
}

}  // namespace tapestry::grader
