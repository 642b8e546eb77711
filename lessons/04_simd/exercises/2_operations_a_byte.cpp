// 4.2 operations_a_byte: what a program waits for, before it runs
// predict, 15 minutes
//
// The arithmetic intensity of a loop is the number of its floating-point operations (a multiply-add is two)
// divided by the bytes that it loads and stores. Predict it for a dot product of doubles, for an update y_i += f x_i
// of floats, and for a tile of 6 rows × 2 vectors of 8 floats; then a speed of the update. Sums and factors that are
// used all the time stay in registers, and cost no byte. Fractions are welcome: 1 / 3.0.
#include "lessons/grader/answer.hpp"

double intensity_of_a_dot_product_in_f64() {
  //[ sum += x[i] * y[i] for two long rows of doubles, 8 bytes each
  //: return not_written_yet();
  return 2 / 16.0;  // two operations for two loads
  //]
}

double intensity_of_a_long_update() {
  //[ y[i] += f * x[i] for long rows of floats
  //: return not_written_yet();
  return 2 / 12.0;  // y and x are loaded, y is stored
  //]
}

double intensity_of_a_tile() {
  //[ a tile of 6 rows × 2 vectors of 8 floats: for each p it loads 6 numbers of a and 2 vectors of b
  //: return not_written_yet();
  return 2 * 6 * 16 / (4.0 * (16 + 6));  // the 6 · 16 sums stay in registers
  //]
}

double speed_of_the_update_in_memory() {
  //[ the most that the update can reach, in GFLOP/s, if memory moves 24 GB/s and the peak is 100 GFLOP/s
  //: return not_written_yet();
  return 24 * 2 / 12.0;  // far below the roof
  //]
}

// hint: Write down for one turn of the loop: which numbers come from memory, which go there, what is
//   computed?
// hint: The tile does 6 · 2 · 8 multiply-adds for one p, and loads ____ floats of 4 bytes. Its sums do not
//   move.
// hint: Speed is at most the smaller one of the peak and intensity × ____.
//
// wrong: That is for floats of 4 bytes. A double has 8, so the same two operations move twice as much.
// - return 2 / 16.0;
// + return 2 / 8.0;
// wrong: C++ divides whole numbers without the fraction, so 2 / 16 is 0: write one of them as 16.0.
// - return 2 / 16.0;
// + return 2 / 16;
// wrong: Half of what is right. Either you counted a multiply-add as one operation, and it is a product and a
//   sum, or you let the sum come and go: it stays in a register.
// - return 2 / 16.0;
// + return 1 / 16.0;
// wrong: y moves twice: it is loaded, and it is stored. With x that is three floats.
// - return 2 / 12.0;
// + return 2 / 8.0;
// wrong: f stays in a register: it is loaded once for the whole row.
// - return 2 / 12.0;
// + return 2 / 16.0;
// wrong: Half of what is right. Either you counted a multiply-add as one operation, or you took doubles: these are floats,
//   of 4 bytes.
// - return 2 / 12.0;
// + return 1 / 12.0;
// wrong: You let each multiply-add load its own two numbers. That is what the tile is for: a vector of b
//   serves 6 rows, a number of a two vectors.
// - return 2 * 6 * 16 / (4.0 * (16 + 6));
// + return 1 / 4.0;
// wrong: You counted the vectors as one number each. Each has 8 lanes, in its operations and in its bytes.
// - return 2 * 6 * 16 / (4.0 * (16 + 6));
// + return 2 * 6 * 2 / (4.0 * (2 + 6));
// wrong: You forgot the numbers of a: 6 of them are loaded beside the two vectors of b.
// - return 2 * 6 * 16 / (4.0 * (16 + 6));
// + return 2 * 6 * 16 / (4.0 * 16);
// wrong: You let the sums come and go at each p. They stay in registers until the last one.
// - return 2 * 6 * 16 / (4.0 * (16 + 6));
// + return 2 * 6 * 16 / (4.0 * (16 + 6 + 2 * 6 * 16));
// wrong: You counted floats. A float has 4 bytes.
// - return 2 * 6 * 16 / (4.0 * (16 + 6));
// + return 2 * 6 * 16 / (16.0 + 6);
// wrong: That is the peak, for programs that use a byte often enough. Here memory is the limit: intensity ×
//   bandwidth lies far below.
// - return 24 * 2 / 12.0;
// + return 100;
// wrong: That many bytes move. How many operations are done with each?
// - return 24 * 2 / 12.0;
// + return 24;
// wrong: You let y be loaded and not stored, so that 8 bytes move for two operations. It is 12.
// - return 24 * 2 / 12.0;
// + return 24 * 2 / 8.0;
// wrong: You divided bandwidth by 12, as if a multiply-add were one operation.
// - return 24 * 2 / 12.0;
// + return 24 / 12.0;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// What a loop does, counted while it runs.
struct Count {
  double operations = 0, bytes = 0;
  template <class T>
  T load(const T& from) {
    bytes += sizeof(T);
    return from;
  }
  template <class T>
  void store(T& to, T value) {
    bytes += sizeof(T);
    to = value;
  }
  template <class T>
  T multiply_add(T x, T y, T z) {
    operations += 2;
    return x * y + z;
  }
  double intensity() const { return operations / bytes; }
};

constexpr std::size_t kLong = 96;

Count dot_product() {
  const std::vector<double> x(kLong, 1), y(kLong, 1);
  Count count;
  double sum = 0;
  for (std::size_t i = 0; i < kLong; ++i) sum = count.multiply_add(count.load(x[i]), count.load(y[i]), sum);
  return count;
}

Count update() {
  const std::vector<float> x(kLong, 1);
  std::vector<float> y(kLong, 1);
  Count count;
  for (std::size_t i = 0; i < kLong; ++i)
    count.store(y[i], count.multiply_add(count.load(x[i]), 0.5F, count.load(y[i])));
  return count;
}

Count tile() {
  constexpr std::size_t kRows = 6, kWide = 2 * 8;
  const std::vector<float> a(kRows * kLong, 1), b(kWide * kLong, 1);
  std::vector<float> sum(kRows * kWide, 0), right(kWide);
  Count count;
  for (std::size_t p = 0; p < kLong; ++p) {
    for (std::size_t j = 0; j < kWide; ++j) right[j] = count.load(b[p * kWide + j]);
    for (std::size_t r = 0; r < kRows; ++r) {
      const float left = count.load(a[p * kRows + r]);
      for (std::size_t j = 0; j < kWide; ++j)
        sum[r * kWide + j] = count.multiply_add(left, right[j], sum[r * kWide + j]);
    }
  }
  return count;
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("foretells the intensity of a dot product", [&] {
    judge.predicted(intensity_of_a_dot_product_in_f64(), dot_product().intensity(), "operations a byte");
  });
  judge.claim("foretells the intensity of an update", [&] {
    judge.predicted(intensity_of_a_long_update(), update().intensity(), "operations a byte");
  });
  judge.claim("foretells the intensity of a tile",
              [&] { judge.predicted(intensity_of_a_tile(), tile().intensity(), "operations a byte"); });
  judge.claim("foretells a speed", [&] {
    judge.predicted(speed_of_the_update_in_memory(), std::min(100.0, 24 * update().intensity()),
                    "the update's GFLOP/s");
  });
}
