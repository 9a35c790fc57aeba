#include <heed/data/tasks/bank.h>
#include <heed/data/tasks/generate.h>

namespace heed {
namespace {

// The words of a line are interchangeable. Those of the first ten lines decide between shore and financial institution.
// The others leave it open: without such words, a model could answer "finance" whenever "river" is missing.
constexpr std::pair<std::string_view, std::string_view> cue_words[] = {
    {"river", "money"},  {"stream", "loan"}, {"water", "cash"},     {"boat", "cheque"},   {"lake", "debt"},
    {"flood", "credit"}, {"fish", "coins"},  {"canal", "mortgage"}, {"creek", "savings"}, {"ferry", "account"},
    {"letter", "story"}, {"guest", "song"},  {"noise", "picture"},  {"dream", "friend"},  {"news", "child"}};
constexpr std::size_t decisive = 10;

constexpr std::string_view people[] = {"farmer", "teacher", "doctor", "baker", "writer",
                                       "singer", "painter", "nurse",  "judge", "pilot"};

constexpr std::string_view times[] = {"yesterday", "today", "again", "alone", "early"};

constexpr std::string_view shapes[] = {"The bank of the {decider} was where the {person} waited {time}",
                                       "The {person} went to the bank because of the {decider} {time}",
                                       "Because of the {decider} , the {person} went to the bank {time}",
                                       "The {person} thought about the {decider} at the bank {time}",
                                       "At the bank , the {person} asked about the {decider} {time}",
                                       "It was the {decider} that brought the {person} to the bank {time}",
                                       "The bank is near the {decider} where the {person} waited {time}",
                                       "The {decider} was all that the {person} saw from the bank {time}"};

std::vector<Example> sentences(const std::string& what, int count, const std::vector<std::vector<int>>& people_of,
                               int keep, const Random& random) {
  if (count % 2 != 0) fail("{}: expected an even number, as sentences come in pairs, got {}", what, count);
  const std::size_t choices = people_of[0].size();
  const std::size_t pairs = std::size(shapes) * std::size(cue_words) * choices * std::size(times);
  std::vector<Example> result;
  for (const int code : draw(what + " (pairs)", count / 2, static_cast<std::int64_t>(pairs), keep, random)) {
    Digits digit{code};
    const std::size_t shape = digit(std::size(shapes)), cue = digit(std::size(cue_words));
    const std::size_t person = people_of[cue][digit(choices)];
    const std::string_view time = times[digit(std::size(times))];
    const bool open = cue >= decisive;
    for (const bool first : {true, false}) {
      Example example;
      example.cue = first ? cue_words[cue].first : cue_words[cue].second;
      example.tokens =
          fill(shapes[shape], {{"{decider}", example.cue}, {"{person}", people[person]}, {"{time}", time}});
      example.query = index_of("bank", example.tokens);
      example.answer = open ? "unclear" : first ? "shore" : "finance";
      example.relation = "sense";
      if (!open) {
        example.antecedent = index_of(example.cue, example.tokens);
        example.counterpart = static_cast<int>(result.size()) + (first ? 1 : -1);
      }
      result.push_back(std::move(example));
    }
  }
  return result;
}

}  // namespace

Task bank_task(int train_sentences, int held_out_sentences, const Random& random) {
  const PairSplit people_of =
      split_pairs(static_cast<int>(std::size(cue_words)), static_cast<int>(std::size(people)), random.stream("people"));
  Task task;
  task.name = "bank";
  task.train = sentences("data.sentences", train_sentences, people_of.train, 0, random.stream("train"));
  task.held_out = sentences("data.held_out", held_out_sentences, people_of.held_out, 1, random.stream("held_out"));
  complete(task);
  return task;
}

}  // namespace heed
