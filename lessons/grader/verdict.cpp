#include "lessons/grader/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "core/io/text.hpp"
#include "lessons/kit/program/progress.hpp"

namespace tapestry::grader {

namespace {

std::string indented(const std::string& text, const std::string& by) {
  std::string out, line;
  std::istringstream lines(text);
  while (std::getline(lines, line)) out += line.empty() ? "\n" : by + line + "\n";
  return out;
}

std::string line_of(const std::string& text, int number) {
  std::istringstream lines(text);
  std::string line;
  for (int i = 0; i < number && std::getline(lines, line); ++i) {
  }
  return line;
}

std::string fault_text(const Fault& fault, const std::optional<std::string>& reason,
                       const kit::Terminal& terminal) {
  std::string out = paint(terminal, kit::kRed, "✗ ") + bold(terminal, fault.title) + "\n";
  if (!fault.example.empty()) out += fmt::format("    with {}\n", fault.example);
  switch (fault.kind) {
    case Fault::Kind::value:
    case Fault::Kind::shape:
      out += fmt::format("    {}{}\n", fault.kind == Fault::Kind::shape ? "the shape of " : "", fault.what);
      out += fmt::format("      expected  {}\n      got       {}\n", fault.expected,
                         paint(terminal, kit::kRed, fault.got));
      break;
    case Fault::Kind::exception:
      out += "    Your code throws:\n" + indented(for_terminal(fault.what, 20), "      ");
      break;
    case Fault::Kind::sentence:
      if (!reason || fault.what.size() > 0) out += indented(fault.what, "    ");
      break;
    case Fault::Kind::not_written:
      break;
  }
  if (reason)
    out += "\n  → " + indented(*reason, "    ").substr(4);  // an arrow in each line would look like code
  return out;
}

std::string complaint_text(const Diagnostic& diagnostic, const std::filesystem::path& answer,
                           const std::string& answer_text, const kit::Terminal& terminal) {
  std::string out = indented(diagnostic.sentence, "    ");
  if (diagnostic.line > 0) {
    const std::string source = line_of(answer_text, diagnostic.line);
    out = fmt::format("    {}:{}\n      {}\n", answer.string(), diagnostic.line,
                      bold(terminal, source.substr(std::min(source.find_first_not_of(' '), source.size())))) +
          out;
  }
  return out;
}

/// Returns a sentence for each hole that still calls not_written_yet(), or "" if no hole is written.
std::string unwritten_holes(const std::string& answer_text) {
  std::string out, about;
  int line = 0, holes = 0, open = 0;
  bool in_hole = false, said = false;
  for (const std::string& text : lines_of(answer_text)) {
    ++line;
    const std::string code = text.substr(0, text.find("//"));
    if (const std::size_t mark = text.find("// ↓ your code"); mark != std::string::npos) {
      in_hole = true, said = false, ++holes;
      about = text.substr(std::min(text.size(), mark + std::string_view("// ↓ your code: ").size()));
    } else if (text.find("// ↑") != std::string::npos) {
      in_hole = false;
    } else if (in_hole && !said && has_word(code, "not_written_yet")) {
      out += fmt::format("Line {} is not written yet{}\n", line, about.empty() ? "." : ": " + about);
      said = true, ++open;
    }
  }
  return open < holes ? out : "";
}

}  // namespace

std::string for_terminal(const std::string& text, int most_lines) {
  std::string out;
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (++count > most_lines) continue;
    for (std::size_t tab; (tab = line.find('\t')) != std::string::npos;) line.replace(tab, 1, "    ");
    out += printable(line, 500) + "\n";
  }
  if (count > most_lines) out += fmt::format("… and {} more lines\n", count - most_lines);
  return out;
}

std::string text(const Verdict& verdict, const Exercise& exercise, const std::filesystem::path& answer,
                 const std::string& answer_text, const kit::Terminal& terminal) {
  std::string out;
  if (!verdict.printed.empty())
    out += "Your code printed:\n" + indented(for_terminal(verdict.printed, 100), "  │ ") + "\n";
  if (verdict.kind != Verdict::Kind::compile_error) out += unwritten_holes(answer_text);
  for (const std::string& right : verdict.finding.right)
    out += paint(terminal, kit::kGreen, "✓ ") + right + "\n";
  const std::string cross = paint(terminal, kit::kRed, "✗ ");
  switch (verdict.kind) {
    case Verdict::Kind::right:
      out += "\n" + paint(terminal, kit::kGreen, fmt::format("Exercise {} is solved.", exercise.id.text())) +
             "\n";
      if (verdict.finding.score)
        out += fmt::format("Your result: {} {}\n", kit::short_number(*verdict.finding.score),
                           verdict.finding.unit);
      break;
    case Verdict::Kind::wrong:
      out += fault_text(*verdict.finding.fault, verdict.reason, terminal);
      break;
    case Verdict::Kind::not_written:
      out += fmt::format("Not written yet: write your code between the lines with ↓ and ↑ in\n  {}\n",
                         answer.string());
      break;
    case Verdict::Kind::compile_error:
      out += cross + "It does not compile.\n" +
             complaint_text(verdict.diagnostic, answer, answer_text, terminal);
      break;
    case Verdict::Kind::crash:
      out += cross + "It crashes.\n" + complaint_text(verdict.diagnostic, answer, answer_text, terminal);
      break;
    case Verdict::Kind::timeout:
      out += cross + out_of_time(exercise.limit).sentence + "\n";
      break;
    case Verdict::Kind::interrupted:
      out += "Interrupted.\n";
      break;
  }
  return out;
}

}  // namespace tapestry::grader
