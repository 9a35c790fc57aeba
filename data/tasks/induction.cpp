#include <heed/autograd/error.h>
#include <heed/data/tasks/induction.h>

#include <numeric>

namespace heed {
namespace {

constexpr int min_period = 8, max_sequences = 200;
constexpr std::string_view signs = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

struct Repeated {
  int period;
  std::vector<std::int32_t> signs;  // T + 1
};

Repeated repeated(int context, Random& random) {
  Repeated sequence{min_period + static_cast<int>(random.below(context / 2 - min_period + 1)), {}};
  std::vector<std::int32_t> all(signs.size());
  std::iota(all.begin(), all.end(), 0);
  random.shuffle(all);
  for (int t = 0; t <= context; ++t) sequence.signs.push_back(all[static_cast<std::size_t>(t % sequence.period)]);
  return sequence;
}

std::string sign(std::int32_t number) { return std::string(signs.substr(static_cast<std::size_t>(number), 1)); }

Example piece_of(const Repeated& sequence, Random& random) {
  Example piece;
  piece.query = sequence.period + static_cast<int>(random.below(sequence.period - 1));
  for (int t = 0; t <= piece.query; ++t) piece.tokens.push_back(sign(sequence.signs[static_cast<std::size_t>(t)]));
  piece.antecedent = piece.query - sequence.period + 1;
  piece.answer = piece.tokens[static_cast<std::size_t>(piece.antecedent)];
  piece.cue = piece.tokens.back();
  return piece;
}

}  // namespace

Task induction_task(int train_sequences, int held_out_sequences, int context, const Random& random) {
  const int most = 2 * static_cast<int>(signs.size());
  if (context < 2 * min_period || context > most) {
    fail("data.context: task induction needs from {} to {}, got {}", 2 * min_period, most, context);
  }
  Task task;
  task.name = "induction";
  task.max_length = context;
  for (std::int32_t number = 0; number < std::ssize(signs); ++number) task.vocabulary.add(sign(number));
  Corpus& corpus = task.corpus.emplace();
  corpus.context = context;
  corpus.is_sequences = true;
  Random draws = random.stream("sequences"), cuts = random.stream("pieces");
  for (int i = 0; i < train_sequences + held_out_sequences; ++i) {
    const bool is_held_out = i >= train_sequences;
    const Repeated sequence = repeated(context, draws);
    for (const std::int32_t number : sequence.signs) (is_held_out ? corpus.held_out : corpus.train).add(number);
    if (is_held_out && std::ssize(task.held_out) < max_sequences) task.held_out.push_back(piece_of(sequence, cuts));
  }
  return task;
}

}  // namespace heed
