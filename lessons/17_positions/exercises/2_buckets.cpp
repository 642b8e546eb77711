// 17.2 buckets: T5's buckets of distances
// implement, 15 minutes
//
// T5 gives each bucket of distances (key's place − query's place) one number. Each side has side = buckets / 2 of
// them: those from 0 on are for keys to the left and at the query itself, those from `side` on for keys to the right
// (whose first nobody uses, since distance 0 is on the left). Of each side the first single = side / 2 are for the
// distances 0 … single − 1, a bucket each. From single on, distances share buckets by their logarithm, and all from
// `farthest` on fall into the side's last:
//
//     share = log(far / single) / log(farthest / single)
//     number on its side = single + ⌊share · (side − single)⌋,    at most side − 1
//
// Write the function for one distance, of either sign; far is its magnitude. `buckets` is a multiple of 4.
#include "lessons/grader/answer.hpp"

Size bucket_of(Size distance, Size buckets, Size farthest) {
  //[ about six lines
  //: return not_written_yet();
  const Size side = buckets / 2, single = side / 2;
  const Size far = std::abs(distance);
  const Size first = distance > 0 ? side : 0;  // of the side
  if (far < single) return first + far;
  const double whole = std::log(static_cast<double>(farthest) / static_cast<double>(single));
  const double share = std::log(static_cast<double>(far) / static_cast<double>(single)) / whole;
  const Size number = single + static_cast<Size>(share * static_cast<double>(side - single));  // rounded down
  return first + std::min(side - 1, number);
  //]
}

// hint: On which side is the key? What is left to find out once you know it?
// hint: With far = |distance|: if (far < ____) return first + far; beyond, single + ⌊share · (side −
//   single)⌋, where share grows from 0 at `single` to 1 at ____.
// hint: static_cast<Size>(x) rounds a positive x down; std::min(side − 1, number) keeps what is farther on
//   its side.
//
// wrong: Both sides share their buckets: three to the left is the same as three to the right. That is all
//   that ALiBi can say, and a head could not look to one side only.
// - const Size first = distance > 0 ? side : 0;
// + const Size first = 0;
// wrong: Left and right are exchanged. The distance is the key's place minus the query's, so it is positive
//   for a key to the right, and these have the second half of the buckets.
// - const Size first = distance > 0 ? side : 0;
// + const Size first = distance < 0 ? side : 0;
// wrong: Distance 0 falls into the first bucket of the right side. A word itself goes with the left side, as
//   bucket 0.
// - const Size first = distance > 0 ? side : 0;
// + const Size first = distance >= 0 ? side : 0;
// wrong: One to the right is number 1 of its side. Number 0 of the right side stays unused: distance 0 belongs
//   to the left.
// - if (far < single) return first + far;
// + if (far < single) return first + far - (distance > 0 ? 1 : 0);
// wrong: You cut off after the right side's first number was added: all shared buckets of the right side become
//   the last one of the left.
// - return first + std::min(side - 1, number);
// + return std::min(side - 1, first + number);
// wrong: Distances beyond `farthest` run out of their side, from the left into the right side's buckets and
//   from the right out of the table. All of them share the last of their side.
// - return first + std::min(side - 1, number);
// + return first + number;
// wrong: You round to the nearest and not down, so buckets change too early. With 16 buckets up to 64, the
//   distance 7 is a fifth of the way by logarithm, and still in the first of four shared buckets.
// - const Size number = single + static_cast<Size>(share * static_cast<double>(side - single));
// + const Size number = single + static_cast<Size>(std::round(share * static_cast<double>(side - single)));
// wrong: You spread the share over the whole side. Its first half has been given out, a bucket each: only
//   side − single are shared.
// - const Size number = single + static_cast<Size>(share * static_cast<double>(side - single));
// + const Size number = single + static_cast<Size>(share * static_cast<double>(side));
// wrong: The shared buckets are equally wide here. They should grow with the distance: it is the logarithm of
//   the distance that is cut into equal parts.
// - const double share = std::log(static_cast<double>(far) / static_cast<double>(single)) / whole;
// + const double share = static_cast<double>(far - single) / static_cast<double>(farthest - single);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

struct Bucket {
  Size number = 0;
  bool on_border = false;  // a logarithm that should be whole: rounding may put it on either side
};

/// Without logarithms: far / single reaches (farthest / single)^(m / shared).
Bucket by_powers(Size distance, Size buckets, Size farthest) {
  const Size side = buckets / 2, single = buckets / 4, far = distance < 0 ? -distance : distance;
  Bucket found{far, false};
  if (far >= single) {
    const double times = static_cast<double>(far) / static_cast<double>(single);
    const double all = static_cast<double>(farthest) / static_cast<double>(single);
    found.number = single;
    for (Size m = 1; m < side - single; ++m) {
      const double border = std::pow(all, static_cast<double>(m) / static_cast<double>(side - single));
      if (times >= border) found.number = single + m;
      if (std::abs(times - border) < 1e-9) found.on_border = true;
    }
  }
  if (distance > 0) found.number += side;
  return found;
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("puts the distances −80 … 80 into 16 buckets up to 64", [&] {
    judge.example("16 buckets, farthest 64: the distances −80, −40, −20, −9, −7, −5, −4, −3, −1, 0, 1, … 80");
    std::vector<double> came, right;
    for (const Size distance : {-80, -40, -20, -9, -7, -5, -4, -3, -1, 0, 1, 3, 4, 5, 7, 9, 20, 40, 80}) {
      came.push_back(static_cast<double>(bucket_of(distance, 16, 64)));
      right.push_back(static_cast<double>(by_powers(distance, 16, 64).number));
    }
    judge.same(came, right, "the buckets");
  });
  judge.claim("puts any distance where it belongs, for any number of buckets", [&] {
    judge.each_size({{"buckets / 4", 1, 8}, {"farthest − buckets / 4", 1, 120}}, [&](const Sizes& n) {
      const Size buckets = 4 * n[0], farthest = n[0] + n[1];
      for (Size distance = -200; distance <= 200; ++distance) {
        const Bucket right = by_powers(distance, buckets, farthest);
        if (right.on_border) continue;
        judge.same(static_cast<double>(bucket_of(distance, buckets, farthest)),
                   static_cast<double>(right.number),
                   "the bucket of distance " + std::to_string(distance) + " with " + std::to_string(buckets) +
                       " buckets up to " + std::to_string(farthest));
      }
    });
  });
}
