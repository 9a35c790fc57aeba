#pragma once
#include <heed/autograd/record.h>
#include <heed/nn/parameters.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace heed {

/// Losses of the micro-batches of a step, and the gradients of the mean over all their predictions.
struct MeanGradients {
  std::vector<double> losses;  ///< by micro-batch: the mean over its own predictions; 0 without one
  Gradients gradients;
};

/// Computes the gradients of the mean loss over all predictions of a batch, however the batch is cut into micro-batches.
///
///     GradientSum sum(parameters, {40, 37, 0, 42});   // predictions of each micro-batch
///     for (const int part : sum.parts()) {
///       const Recording recording;
///       sum.backward(loss_of(part));                  // the mean over the micro-batch's predictions
///     }
///     const auto [losses, gradients] = sum.mean();
///
/// Gradients are added along a binary tree over the micro-batch's number, so that the bits are the same for any number of
/// processes (GradientReducer::gradient_sum()). For p micro-batches it keeps up to log2(p) + 1 gradients.
class GradientSum {
 public:
  /// `counts` holds the number of predictions of each micro-batch, or their total weight; equal numbers count equally. Throws
  /// Error for a count that is negative or not finite, and without micro-batches.
  GradientSum(const Parameters& parameters, std::vector<double> counts);
  virtual ~GradientSum() = default;
  GradientSum(const GradientSum&) = delete;

  /// Returns the micro-batches that this process computes, in order: those with predictions. On one
  /// process, the only micro-batch of a batch is always one of them.
  std::vector<int> parts() const;
  /// Adds the gradients of the next of parts(), of which `loss` is the mean loss. Call it within the micro-batch's Recording.
  /// Throws Error, when there are several micro-batches, for a loss that does not depend on some parameter that is not frozen.
  void backward(const Tensor& loss);
  /// Returns the result, after all of parts().
  virtual MeanGradients mean();

 protected:
  /// Node [begin, end) of the tree of micro-batches has the halves [begin, middle) and [middle, end); the length of the left one
  /// is a power of two. Its sum is the sum of both. Addition of two numbers is commutative, so the bits depend on the tree alone.
  struct Node {
    int begin, end;
    Node left() const { return {begin, middle()}; }  ///< the first half
    Node right() const { return {middle(), end}; }   ///< the second half

   private:
    int middle() const;
  };
  using Sum = std::vector<Tensor>;  ///< gradients, by variable

  /// Sums the nodes `own`.
  GradientSum(const Parameters& parameters, std::vector<double> counts, std::vector<Node> own, bool is_whole = false);

  /// Adds micro-batches without predictions that follow, and checks that none is left to add.
  void finish();
  /// Is called when the sum of a variable is final, in the last of this process's nodes.
  virtual void on_final(std::size_t /*variable*/) {}

  const std::vector<double> counts_;  // by micro-batch
  const std::vector<Node> own_;       // the nodes that this process sums, in order
  std::vector<Tensor> variables_;     // last parameters first, as backward finishes them
  std::vector<Sum> sums_;             // of own_, the last one in the making
  std::vector<double> losses_;        // of this process's micro-batches

 private:
  void skip_empty();
  void begin_part();
  void take(std::size_t variable, Tensor gradient);
  void end_part();

  const bool is_whole_;                                  // one micro-batch, on one process: nothing is added
  const double total_;                                   // of all counts
  std::unordered_map<std::int64_t, std::size_t> index_;  // of a variable, by its number on the tape
  std::size_t node_ = 0;                                 // of own_: the one in the making
  int next_ = 0;                                         // micro-batch
  std::vector<Sum> left_;   // sums of left halves in the node in the making that wait for their right halves
  std::size_t merged_ = 0;  // number of these that the micro-batch completes
  Sum part_;                // sum of the micro-batch and of the halves that it completes
  Gradients whole_;
};

/// Returns the mean over all predictions of several parts: `means` holds that of each part, `counts` how many it has. Returns 0
/// without predictions.
double mean_over_parts(const std::vector<double>& means, const std::vector<double>& counts);

}  // namespace heed
