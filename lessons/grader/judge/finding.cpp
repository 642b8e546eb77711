#include "lessons/grader/judge/finding.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace tapestry::grader {

namespace {

using Json = nlohmann::ordered_json;

bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;  // 1e-6 of ∞ is ∞, so every number would be close to it
  return a == b || std::abs(a - b) <= 1e-6 * std::max(std::abs(a), std::abs(b));
}

/// Converts a number to JSON, which has no numbers for NaN and ±∞.
Json from_number(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}

double to_number(const Json& x) {
  if (!x.is_string()) return x.get<double>();
  if (x == "nan") return std::numeric_limits<double>::quiet_NaN();
  return x == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

}  // namespace

bool Fault::like(const Fault& other) const {
  if (kind != other.kind || claim != other.claim || example != other.example || what != other.what ||
      behaviour.size() != other.behaviour.size())
    return false;
  for (std::size_t i = 0; i < behaviour.size(); ++i)
    if (!same(behaviour[i], other.behaviour[i])) return false;
  return true;
}

std::string to_json(const Finding& finding) {
  Json json{
      {"seed", finding.seed}, {"right", finding.right}, {"unit", finding.unit}, {"tried", finding.tried}};
  if (finding.score) json["score"] = from_number(*finding.score);
  if (finding.fault) {
    const Fault& fault = *finding.fault;
    json["fault"] = {{"kind", static_cast<int>(fault.kind)},
                     {"claim", fault.claim},
                     {"title", fault.title},
                     {"example", fault.example},
                     {"what", fault.what},
                     {"expected", fault.expected},
                     {"got", fault.got},
                     {"behaviour", Json::array()}};
    for (const double x : fault.behaviour) json["fault"]["behaviour"].push_back(from_number(x));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Finding finding_from_json(const std::string& text) {
  const Json json = Json::parse(text);
  Finding finding{json.at("seed"), json.at("right"), {}, {}, json.at("unit"), json.at("tried")};
  if (json.contains("score")) finding.score = to_number(json["score"]);
  if (json.contains("fault")) {
    const Json& fault = json["fault"];
    finding.fault = Fault{static_cast<Fault::Kind>(fault.at("kind").get<int>()),
                          fault.at("claim"),
                          fault.at("title"),
                          fault.at("example"),
                          fault.at("what"),
                          fault.at("expected"),
                          fault.at("got"),
                          {}};
    for (const Json& x : fault.at("behaviour")) finding.fault->behaviour.push_back(to_number(x));
  }
  return finding;
}

}  // namespace tapestry::grader
