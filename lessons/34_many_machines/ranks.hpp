// Lesson 20's model, sorting digits, trained by several ranks.
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

/// Sums a row of numbers over all ranks.
using Ring = void (*)(Communicator& ranks, std::span<double> x);
/// One step of gradient descent, as the chapter writes it: `mean` is the loss of this rank's rows, over `count` answers.
using Step = void (*)(Communicator& ranks, Tape& tape, const std::vector<Tensor>& weights, const Tensor& mean,
                      double count, double rate);

/// Strings in a global batch, however many ranks share it.
inline constexpr Size kBatch = 48;

std::unique_ptr<LanguageModel> sorter(std::uint64_t seed, DType dtype, Size width = 64);
/// The loss of a part of step `step`'s global batch, and how many answers it has.
PartLoss loss_of(const LanguageModel& model, std::uint64_t seed, std::uint64_t step, const Part& part);
/// The share of strings with answers never seen that are right to the last digit, in per cent.
double percent_sorted(LanguageModel& model, const kit::Options& options);

/// What a ring makes of these rows, one a rank; rank 0's.
std::vector<double> sums_of(Ring ring, const std::vector<std::vector<double>>& rows);
/// Whether the ring by hand gives the bits of optim/'s on 1 to 8 ranks, and sums of loops.
bool same_ring(Ring by_hand, std::uint64_t seed);
/// Bytes that each rank sends for `numbers` numbers, divided by the bytes of the numbers.
double bytes_sent(Ring ring, int ranks, std::size_t numbers);

/// The weights after some steps in f64.
std::vector<Tensor> after_steps_by_hand(Step step, int ranks, std::uint64_t seed);
std::vector<Tensor> after_steps(int ranks, std::uint64_t seed);
/// The same in one process, without ranks.
std::vector<Tensor> after_steps_alone(std::uint64_t seed);

/// How training goes on `ranks` threads, if each rank dies, or goes its own way.
struct Training {
  int ranks = 4;
  bool apart = false;            ///< no gradient is shared; at the end the weights are averaged
  bool own_start = false;        ///< each rank begins with weights of its own
  std::uint64_t dies_at = 0;     ///< the step in which the last rank is lost; 0: in none
  std::filesystem::path file{};  ///< where rank 0 keeps a checkpoint, every tenth step, and goes on from
  bool tell = true;              ///< show progress
};
/// Trains options.steps steps; the model of rank 0. Throws RankFailure where a rank was lost.
std::unique_ptr<LanguageModel> train(const Training& how, const kit::Options& options);

/// Two ranks, of which one is lost in step 25 of 30.
struct Loss {
  std::string told;        ///< what the other says
  bool same_bits = false;  ///< a new run from the checkpoint ends with the weights of one without a loss
};
Loss lose_a_rank(kit::Options options);

/// The same over these ranks, for mpirun: prints answers a second, and returns what is right in per cent, on rank 0.
double train_here(Communicator& ranks, const kit::Options& options, LanguageModel& model,
                  const std::filesystem::path& file);

}  // namespace tapestry::lesson34
