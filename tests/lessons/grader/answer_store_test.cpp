// The learner's files: nothing of theirs is lost.
#include "lessons/grader/answer_store.hpp"

#include <fstream>

#include "lessons/grader/compiler.hpp"
#include "lessons/kit/program/files.hpp"
#include "lessons/kit/program/usage_error.hpp"
#include "tests/catch.hpp"
#include "tests/temporary.hpp"

namespace tapestry::grader {
namespace {

namespace fs = std::filesystem;

struct Place {
  test::TemporaryFolder root;

  Exercise exercise(const std::string& given = "return not_written_yet();") {
    const fs::path path = "lessons/03_training/exercises/2_half.cpp";
    fs::create_directories((root / path.string()).parent_path());
    std::ofstream(root / path.string())
        << "// 3.2 half: half of a number\n// implement, 5 minutes\n//\n// Give half.\n"
        << "double half(double x) {\n  //[ one line\n  //: " << given
        << "\n  return x / 2;\n  //]\n}\n//= judge\n";
    return read_exercise(root.path(), path);
  }
};

const char* const kAnswer = "practise/03_training/2_half.cpp";

}  // namespace

TEST_CASE("an answer that is there is never overwritten", "[grader]") {
  Place place;
  const Exercise exercise = place.exercise();
  AnswerStore store(place.root.path());
  CHECK(store.answer_of(exercise) == kAnswer);
  store.begin(exercise);
  CHECK(content(place.root / kAnswer) == exercise.given());
  std::ofstream(place.root / kAnswer) << "mine";
  store.begin(exercise);
  CHECK(content(place.root / kAnswer) == "mine");
}

TEST_CASE("a reset keeps the old file, however often", "[grader]") {
  Place place;
  const Exercise exercise = place.exercise();
  AnswerStore store(place.root.path());
  CHECK(store.reset(exercise).empty());  // there was none
  std::vector<fs::path> kept;
  for (const char* text : {"first", "second", "third"}) {
    std::ofstream(place.root / kAnswer) << text;
    kept.push_back(store.reset(exercise));
    CHECK(content(place.root / kAnswer) == exercise.given());
  }
  CHECK(content(place.root / kept[0].string()) == "first");
  CHECK(content(place.root / kept[1].string()) == "second");
  CHECK(content(place.root / kept[2].string()) == "third");
}

TEST_CASE("a change of the exercise is told once, and the answer stays", "[grader]") {
  Place place;
  const Exercise before = place.exercise();
  AnswerStore store(place.root.path());
  store.begin(before);
  CHECK_FALSE(store.changed(before));
  const Exercise after = place.exercise("return not_written_yet();  // now");
  REQUIRE(store.changed(after));
  CHECK(*store.changed(after) == "-   return not_written_yet();\n+   return not_written_yet();  // now\n");
  CHECK(content(place.root / kAnswer) == before.given());
  store.accept_change(after);
  CHECK_FALSE(store.changed(after));
}

TEST_CASE("a piece of the engine is kept, and an edited one is set aside before a new one", "[grader]") {
  Place place;
  Exercise exercise = place.exercise(), other = place.exercise(), none = place.exercise();
  exercise.piece = "half.hpp";
  other.piece = "twice.hpp";
  const std::vector<Exercise> all{other, exercise, none};
  const AnswerStore store(place.root.path());
  const auto files = [&] {
    std::vector<std::string> names;
    for (const auto& file : fs::directory_iterator(place.root / "practise/engine"))
      names.push_back(file.path().filename());
    return names.size();
  };
  CHECK_FALSE(store.has_engine_header("half.hpp"));
  CHECK(store.save_engine_header(exercise, "first\n", all) == "practise/engine/half.hpp");
  CHECK(store.has_engine_header("half.hpp"));
  CHECK(content(place.root / "practise/engine/half.hpp") == "#pragma once\nfirst\n");
  const std::string whole = content(place.root / "practise/engine.hpp");
  CHECK(whole.find("#include \"engine/half.hpp\"") != std::string::npos);
  CHECK(whole.find("twice.hpp") == std::string::npos);  // not written yet

  store.save_engine_header(exercise, "second\n",
                           all);  // the first is unedited, so its exercise can restore it
  CHECK(content(place.root / "practise/engine/half.hpp") == "#pragma once\nsecond\n");
  CHECK(files() == 1);
  std::ofstream(place.root / "practise/engine/half.hpp") << "by hand";
  store.save_engine_header(exercise, "third\n", all);
  CHECK(content(place.root / "practise/engine/half.hpp") == "#pragma once\nthird\n");
  REQUIRE(files() == 2);
  for (const auto& file : fs::directory_iterator(place.root / "practise/engine"))
    if (file.path().filename() != "half.hpp") CHECK(content(file.path()) == "by hand");

  store.save_engine_header(other, "more\n", all);  // in the course's order
  const std::string both = content(place.root / "practise/engine.hpp");
  CHECK(both.find("engine/twice.hpp") < both.find("engine/half.hpp"));
  CHECK(both.find("engine/half.hpp") != std::string::npos);
}

TEST_CASE("additions to practise/engine.hpp are kept", "[grader]") {
  Place place;
  Exercise exercise = place.exercise();
  exercise.piece = "half.hpp";
  const AnswerStore store(place.root.path());
  store.save_engine_header(exercise, "first\n", {exercise});
  const fs::path engine = place.root / "practise/engine.hpp";
  const std::string ours = content(engine);
  std::ofstream(engine, std::ios::app) << "// mine\n";
  store.save_engine_header(exercise, "second\n", {exercise});
  CHECK(content(engine) == ours);
  int kept = 0;
  for (const auto& file : fs::directory_iterator(place.root / "practise"))
    kept += file.is_regular_file() && content(file.path()) == ours + "// mine\n" ? 1 : 0;
  CHECK(kept == 1);
  store.save_engine_header(exercise, "third\n", {exercise});  // what is ours needs no copy
  CHECK(std::distance(fs::directory_iterator(place.root / "practise"), {}) ==
        4);  // engine, .state, engine.hpp, the copy
}

TEST_CASE("a file that appears while one is laid out stays", "[grader]") {
  const test::TemporaryFolder folder;
  const fs::path file = folder / "answer.cpp";
  CHECK(kit::create_atomically(file, "given"));
  CHECK(content(file) == "given");
  CHECK_FALSE(kit::create_atomically(file, "given again"));
  CHECK(content(file) == "given");
  fs::create_symlink("nowhere", folder / "link.cpp");  // an editor's, whose file is not there yet
  CHECK_FALSE(kit::create_atomically(folder / "link.cpp", "given"));
  CHECK(fs::is_symlink(folder / "link.cpp"));
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 2);  // nothing is left beside them
}

TEST_CASE("what is remembered is there the next time", "[grader]") {
  Place place;
  const Exercise exercise = place.exercise();
  {
    AnswerStore store(place.root.path());
    CHECK_FALSE(store.current());
    store.remember(exercise.id, {3, 1, "2026-01-02", true, 0.5});
    store.remember({4, 1}, {1, 0, "", false, {}});
    store.set_current(exercise.id);
  }
  const AnswerStore store(place.root.path());
  CHECK(store.current() == "3.2");
  const Record record = store.record(exercise.id);
  CHECK(record.tries == 3);
  CHECK(record.hints == 1);
  CHECK(record.solved == "2026-01-02");
  CHECK(record.solution_shown);
  CHECK(record.best == 0.5);
  CHECK_FALSE(store.record({4, 1}).best);
  CHECK(store.record({4, 1}).tries == 1);
  CHECK(store.record({9, 9}).tries == 0);
}

TEST_CASE("two at work on one folder keep each other's marks", "[grader]") {
  Place place;
  place.exercise();
  AnswerStore watcher(place.root.path()), editor(place.root.path());
  const ExerciseId first{3, 1}, second{3, 2};
  editor.remember(first, {.tries = 2, .solved = "2026-11-24", .best = 40});
  watcher.remember(second, {.tries = 1, .hints = 1});
  watcher.remember(first, {.tries = 1, .hints = 3, .best = 50});  // which it did not know to be solved
  editor.set_current(second);
  const AnswerStore later(place.root.path());
  CHECK(later.record(first).solved == "2026-11-24");
  CHECK(later.record(first).tries == 2);
  CHECK(later.record(first).hints == 3);
  CHECK(later.record(first).best == 40);
  CHECK(later.record(second).hints == 1);
  CHECK(later.current() == "3.2");
}

TEST_CASE("a damaged memory is refused, not thrown away", "[grader]") {
  Place place;
  fs::create_directories(place.root / "practise/.state");
  std::ofstream(place.root / "practise/.state/progress.json") << "{\"current\": ";
  CHECK_THROWS_WITH(AnswerStore(place.root.path()), Catch::Contains("progress.json is damaged"));
  CHECK(content(place.root / "practise/.state/progress.json") == "{\"current\": ");
}

}  // namespace tapestry::grader
