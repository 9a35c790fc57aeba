#pragma once
#include "run/metrics.h"
#include "train/config/config.h"
#include "views/terminal.h"

#include <heed/formats/saved_model.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// Trains one configuration with several seeds, to show how much of the result depends on the seed, or with each part of its
// sentences held out in turn (cross-validation).
namespace heed {

/// Returns the seeds that "1-8", "1,3,5" or "1-4,9" lists, in that order. Throws UsageError for other text and for a
/// seed that is listed twice.
std::vector<std::uint64_t> parse_seeds(std::string_view text);

/// What differs between the runs of a series: the seed, or the part of the sentences that is held out.
enum class Varied { seed, fold };

/// The last evaluations of the runs of a series: a table with a row per run and the figures that are known.
class SeedTable {
 public:
  explicit SeedTable(Varied varied = Varied::seed) : varied_(varied) {}
  std::string row(std::uint64_t number, const Evaluation& held_out);  // the first row follows the heading
  std::string summary() const;  // means, and from the second row on their 95 % intervals (Student's t)

 private:
  struct Column {
    std::string name;
    int width;
    std::vector<double> values;
  };
  Varied varied_;
  std::vector<Column> columns_;
};

/// The answers of the runs of a cross-validation, each to the sentences that it held out: all sentences, once each.
class FoldAnswers {
 public:
  void add(const Model& model, const std::vector<Example>& held_out);
  /// Returns the share of right answers to all sentences, with its interval over sentences, and what it leaves out.
  std::string summary(const Terminal& terminal) const;

 private:
  std::vector<double> right_;
  std::vector<int> groups_;  // minimal pairs
};

/// Trains each configuration in OUT/seed-N or OUT/fold-N; they differ in this number alone. Resumes a run that exists, and keeps one
/// that has ended. Prints the table while it grows, unless `quiet`. Returns false when `stop` became non-zero before
/// all runs had ended. Throws Error, before training, when a run of another configuration exists.
bool train_series(const std::vector<Config>& configs, Varied varied, const std::filesystem::path& out, bool quiet,
                  const Terminal& terminal, const volatile std::sig_atomic_t& stop);

}  // namespace heed
