// 4.2 operations_a_byte: Arithmetic intensity
// predict, 15 minutes
//
// The arithmetic intensity of a loop is the number of its floating-point operations, divided by the number of bytes
// that it loads and stores. A multiply-add is two operations. Sums and factors that are used again and again stay in
// registers and count no bytes.
//
// Predict the intensity of a dot product of doubles, of an update y_i += f x_i of floats, and of a tile of 6 rows ×
// 2 vectors of 8 floats. Then predict the speed of the update. You may return a fraction: 1 / 3.0.
#include "lessons/grader/answer.hpp"

double intensity_of_a_dot_product_in_f64() {
  //[ sum += x[i] * y[i] for two long rows of doubles, 8 bytes each
  //: return not_written_yet();
  return 2 / 16.0;  // two operations and two loads
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
  return 24 * 2 / 12.0;  // far below the peak
  //]
}

// hint: Write down for one iteration of the loop: which numbers are loaded, which are stored, and what is computed?
// hint: For each p, the tile computes 6 · 2 · 8 multiply-adds and loads ____ floats of 4 bytes. Its sums stay in
//   registers.
// hint: The speed is at most the smaller of the peak and intensity × ____.
//
// wrong: Your number is right for floats of 4 bytes. A double has 8 bytes, so the same two operations need twice as
//   many.
// - return 2 / 16.0;
// + return 2 / 8.0;
// wrong: In C++ the division of two integers drops the fraction, so 2 / 16 is 0. Write 16.0.
// - return 2 / 16.0;
// + return 2 / 16;
// wrong: Your number is half of the right one. A multiply-add is two operations, a product and a sum. And the sum
//   stays in a register, so it is neither loaded nor stored.
// - return 2 / 16.0;
// + return 1 / 16.0;
// wrong: y is loaded and stored. Together with the load of x, that is three floats.
// - return 2 / 12.0;
// + return 2 / 8.0;
// wrong: You count f in every iteration. f is loaded once and stays in a register.
// - return 2 / 12.0;
// + return 2 / 16.0;
// wrong: Your number is half of the right one. A multiply-add is two operations, and the numbers are floats of 4
//   bytes, not doubles.
// - return 2 / 12.0;
// + return 1 / 12.0;
// wrong: You let each multiply-add load its own two numbers. The tile uses a vector of b for 6 rows, and a number
//   of a for two vectors.
// - return 2 * 6 * 16 / (4.0 * (16 + 6));
// + return 1 / 4.0;
// wrong: You counted each vector as a single number. A vector has 8 lanes, which count as operations and as bytes.
// - return 2 * 6 * 16 / (4.0 * (16 + 6));
// + return 2 * 6 * 2 / (4.0 * (2 + 6));
// wrong: You left out the numbers of a. The tile loads 6 of them, in addition to the two vectors of b.
// - return 2 * 6 * 16 / (4.0 * (16 + 6));
// + return 2 * 6 * 16 / (4.0 * 16);
// wrong: You let the sums be loaded and stored for each p. They stay in registers until the last p.
// - return 2 * 6 * 16 / (4.0 * (16 + 6));
// + return 2 * 6 * 16 / (4.0 * (16 + 6 + 2 * 6 * 16));
// wrong: You divided by the number of floats. A float has 4 bytes.
// - return 2 * 6 * 16 / (4.0 * (16 + 6));
// + return 2 * 6 * 16 / (16.0 + 6);
// wrong: You return the peak, which only programs with a high intensity can reach. Here memory is the limit:
//   intensity × bandwidth is far below the peak.
// - return 24 * 2 / 12.0;
// + return 100;
// wrong: You return the bandwidth. How many operations does the update compute for each byte?
// - return 24 * 2 / 12.0;
// + return 24;
// wrong: You left out the store of y, and counted 8 bytes for two operations. There are 12 bytes.
// - return 24 * 2 / 12.0;
// + return 24 * 2 / 8.0;
// wrong: You divided the bandwidth by 12, as if a multiply-add were one operation.
// - return 24 * 2 / 12.0;
// + return 24 / 12.0;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Counts the operations and bytes of a loop while it runs.
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
  judge.claim("predicts the intensity of a dot product", [&] {
    judge.predicted(intensity_of_a_dot_product_in_f64(), dot_product().intensity(), "operations per byte");
  });
  judge.claim("predicts the intensity of an update", [&] {
    judge.predicted(intensity_of_a_long_update(), update().intensity(), "operations per byte");
  });
  judge.claim("predicts the intensity of a tile",
              [&] { judge.predicted(intensity_of_a_tile(), tile().intensity(), "operations per byte"); });
  judge.claim("predicts the speed of an update", [&] {
    judge.predicted(speed_of_the_update_in_memory(), std::min(100.0, 24 * update().intensity()),
                    "the update's GFLOP/s");
  });
}
