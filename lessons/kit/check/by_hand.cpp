// The check that a lesson's implementation by hand agrees with the one in nn/.
#include "lessons/kit/check/by_hand.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/check/gradcheck.hpp"
#include "lessons/kit/check/agreement.hpp"

namespace tapestry::kit {

bool check_by_hand(Report& report, const std::string& name, const std::function<Tensor()>& by_hand,
                   const std::function<Tensor()>& by_nn, const std::vector<Tensor>& leaves,
                   std::uint64_t seed) {
  const GradcheckResult check = gradcheck(by_hand, {}, leaves, GradcheckOptions{.seed = seed});
  if (!check.ok()) fmt::print("{}", check.report());
  const double apart =
      std::max(farthest({by_hand()}, {by_nn()}),
               farthest(gradients(by_hand, leaves, seed + 1), gradients(by_nn, leaves, seed + 1)));
  return report.check(
      fmt::format("{}: gradcheck of {} derivatives; nn/ agrees to 1e-12", name, check.compared),
      check.ok() && apart < 1e-12);
}

}  // namespace tapestry::kit
