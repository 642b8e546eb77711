// Trains lesson 20's model, which sorts digits, on several ranks.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/transformer/language_model.hpp"
#include "optim/parallel/communicator.hpp"
#include "optim/parallel/data_parallel.hpp"

namespace tapestry::lesson34 {

/// Replaces each rank's row x by the sum of all ranks' rows.
using Ring = void (*)(Communicator& ranks, std::span<double> x);
/// One step of gradient descent by hand. `mean` is the loss of this rank's rows, over `count` answers.
using Step = void (*)(Communicator& ranks, Tape& tape, const std::vector<Tensor>& weights, const Tensor& mean,
                      double count, double rate);

/// Number of strings in a global batch, for any number of ranks.
inline constexpr Size kBatch = 48;

std::unique_ptr<LanguageModel> sorting_model(std::uint64_t seed, DType dtype, Size width = 64);
/// Returns the loss of a part of the global batch at step `step`, and the number of its answers.
PartLoss loss_of(const LanguageModel& model, std::uint64_t seed, std::uint64_t step, const Part& part);
/// Returns how many test strings are sorted with every digit right, in %. No test string was in training.
double percent_sorted(LanguageModel& model, const kit::Options& options);

/// Runs the ring on these rows, one for each rank, and returns the result of rank 0.
std::vector<double> sums_of(Ring ring, const std::vector<std::vector<double>>& rows);
/// Returns true if the ring by hand gives the bits of optim/'s ring on 1 to 8 ranks, and the sums of plain
/// loops.
bool same_ring(Ring by_hand, std::uint64_t seed);
/// Returns the bytes that each rank sends for `numbers` numbers, divided by the bytes of the numbers.
double bytes_sent(Ring ring, int ranks, std::size_t numbers);

/// Return the weights after a few steps in f64: with the step by hand, and with optim/.
std::vector<Tensor> after_steps_by_hand(Step step, int ranks, std::uint64_t seed);
std::vector<Tensor> after_steps(int ranks, std::uint64_t seed);
/// Returns the weights after the same steps in one process, without ranks.
std::vector<Tensor> after_steps_alone(std::uint64_t seed);

/// Settings of a training run on `ranks` threads.
struct Training {
  int ranks = 4;
  bool independent = false;  ///< no gradients are shared; the weights are averaged at the end
  bool different_initial_weights = false;
  std::uint64_t fails_at = 0;    ///< step in which the last rank is lost; 0: never
  std::filesystem::path file{};  ///< checkpoint of rank 0, saved every ten steps; the run resumes from it
  bool show_progress = true;
};
/// Trains for options.steps steps and returns rank 0's model. Throws RankFailure if a rank was lost.
std::unique_ptr<LanguageModel> train(const Training& how, const kit::Options& options);

/// Results of fail_and_resume().
struct FailureResult {
  std::string error;       ///< error message of the run that failed
  bool same_bits = false;  ///< the resumed run ends with the weights of a run without the failure
};
/// Trains on two ranks, of which one is lost in step 25 of 30, and resumes from the checkpoint.
FailureResult fail_and_resume(kit::Options options);

/// Trains on the given ranks, for mpirun. On rank 0, prints the time and returns the strings sorted
/// correctly, in %.
double train_over_mpi(Communicator& ranks, const kit::Options& options, LanguageModel& model,
                      const std::filesystem::path& file);

}  // namespace tapestry::lesson34
