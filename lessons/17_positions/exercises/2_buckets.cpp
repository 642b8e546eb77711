// 17.2 buckets: T5's buckets of distances
// implement, 15 minutes
//
// T5 learns one number for each bucket of distances. A distance is the key's position minus the query's. Write
// the function that returns the bucket of a distance, of either sign. Let `far` be its absolute value.
// `buckets` is a multiple of 4.
//
// There are two sides, with side = buckets / 2 buckets each. Buckets 0 to side − 1 are for keys to the left and
// for distance 0. The buckets from `side` on are for keys to the right. (The first of these is never used,
// because distance 0 is on the left side.)
//
// On each side, the first single = side / 2 buckets are for the distances 0 … single − 1, with one bucket for
// each. From the distance `single` on, distances share buckets by their logarithm. All distances from
// `farthest` on are in the last bucket of the side:
//
//     share = log(far / single) / log(farthest / single)
//     number on its side = single + ⌊share · (side − single)⌋,    at most side − 1
#include "lessons/grader/answer.hpp"

Size bucket_of(Size distance, Size buckets, Size farthest) {
  //[ about six lines
  //: return not_written_yet();
  const Size side = buckets / 2, single = side / 2;
  const Size far = std::abs(distance);
  const Size first = distance > 0 ? side : 0;  // first bucket of the side
  if (far < single) return first + far;
  const double whole = std::log(static_cast<double>(farthest) / static_cast<double>(single));
  const double share = std::log(static_cast<double>(far) / static_cast<double>(single)) / whole;
  const Size number = single + static_cast<Size>(share * static_cast<double>(side - single));  // rounded down
  return first + std::min(side - 1, number);
  //]
}

// hint: On which side is the key? When you know the side, what do you still have to compute?
// hint: Let far = |distance|. If (far < ____), return first + far. Otherwise the number is single +
//   ⌊share · (side − single)⌋, where share grows from 0 at `single` to 1 at ____.
// hint: static_cast<Size>(x) rounds a positive x down. std::min(side − 1, number) keeps far distances in the
//   last bucket of their side.
//
// wrong: Both sides share their buckets, so three to the left is the same as three to the right. A head could
//   then not attend to one side only. ALiBi has this limit.
// - const Size first = distance > 0 ? side : 0;
// + const Size first = 0;
// wrong: You exchanged left and right. The distance is the key's position minus the query's, so it is positive
//   for a key to the right. Keys to the right have the second half of the buckets.
// - const Size first = distance > 0 ? side : 0;
// + const Size first = distance < 0 ? side : 0;
// wrong: You put distance 0 into the first bucket of the right side. It belongs to the left side, as bucket 0.
// - const Size first = distance > 0 ? side : 0;
// + const Size first = distance >= 0 ? side : 0;
// wrong: A key one position to the right has number 1 on its side. Number 0 of the right side is never used,
//   because distance 0 belongs to the left side.
// - if (far < single) return first + far;
// + if (far < single) return first + far - (distance > 0 ? 1 : 0);
// wrong: You apply the limit after adding the first bucket of the right side. So all shared buckets of the
//   right side become the last bucket of the left side.
// - return first + std::min(side - 1, number);
// + return std::min(side - 1, first + number);
// wrong: Distances beyond `farthest` get buckets outside their side. On the left, they get buckets of the right
//   side. On the right, they are outside the table. All of them belong to the last bucket of their side.
// - return first + std::min(side - 1, number);
// + return first + number;
// wrong: You round to the nearest number, so the buckets change too early. Round down. With 16 buckets up to
//   64, the logarithm of the distance 7 is a fifth of the way, so 7 is still in the first of the four shared
//   buckets.
// - const Size number = single + static_cast<Size>(share * static_cast<double>(side - single));
// + const Size number = single + static_cast<Size>(std::round(share * static_cast<double>(side - single)));
// wrong: You spread the share over the whole side. But the first half of the side is already used, with one
//   bucket for each distance. Only side − single buckets are shared.
// - const Size number = single + static_cast<Size>(share * static_cast<double>(side - single));
// + const Size number = single + static_cast<Size>(share * static_cast<double>(side));
// wrong: Your shared buckets all have the same width. They should grow with the distance, because the
//   *logarithm* of the distance is divided into equal parts.
// - const double share = std::log(static_cast<double>(far) / static_cast<double>(single)) / whole;
// + const double share = static_cast<double>(far - single) / static_cast<double>(farthest - single);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

struct Bucket {
  Size number = 0;
  bool on_border = false;  // the exact value is a whole number, so rounding may give either bucket
};

/// Computes the bucket without logarithms: far / single is at least (farthest / single)^(m / shared).
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
  judge.claim("finds the buckets of the distances −80 … 80, with 16 buckets up to 64", [&] {
    judge.example("16 buckets, farthest 64: the distances −80, −40, −20, −9, −7, −5, −4, −3, −1, 0, 1, … 80");
    std::vector<double> came, right;
    for (const Size distance : {-80, -40, -20, -9, -7, -5, -4, -3, -1, 0, 1, 3, 4, 5, 7, 9, 20, 40, 80}) {
      came.push_back(static_cast<double>(bucket_of(distance, 16, 64)));
      right.push_back(static_cast<double>(by_powers(distance, 16, 64).number));
    }
    judge.same(came, right, "the buckets");
  });
  judge.claim("finds the bucket of every distance for other numbers of buckets", [&] {
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
