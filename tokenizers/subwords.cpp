#include <heed/autograd/error.h>
#include <heed/tokenizers/subwords.h>

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>
#include <utility>

namespace heed {
namespace {

constexpr std::string_view space_sign = "\u2581";   // SentencePiece's substitute for a space
constexpr std::size_t max_stretch = 4000;           // in bytes; SentencePiece skips longer lines
constexpr std::size_t max_learned_from = 64 << 20;  // in bytes, sampled evenly from longer texts

// Returns the number of bytes from `begin` on that SentencePiece preserves: one line of UTF-8 without its substitute
// for a space.
std::size_t stretch_at(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  while (end < text.size() && end - begin < max_stretch) {
    utf8proc_int32_t point = 0;
    const std::string_view rest = text.substr(end, 4);
    const utf8proc_ssize_t bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(rest.data()),
                                                    static_cast<utf8proc_ssize_t>(rest.size()), &point);
    if (bytes <= 0 || point == '\n' || point == 0 || rest.starts_with(space_sign)) break;
    end += static_cast<std::size_t>(bytes);
  }
  return end - begin;
}

// SentencePiece's own type, or abseil's since SentencePiece 0.2.2.
using Status = decltype(std::declval<const sentencepiece::SentenceIterator&>().status());

// The lines of the texts, every n-th if there are too many.
class Lines : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(const std::vector<std::string_view>& texts) : texts_(texts) {
    std::size_t bytes = 0;
    for (const std::string_view text : texts) bytes += text.size();
    every_ = bytes / max_learned_from + 1;
    Next();
  }
  bool done() const override { return text_ == texts_.size(); }
  void Next() override {
    for (std::size_t skipped = 0; text_ < texts_.size();) {
      const std::string_view text = texts_[text_];
      if (at_ == text.size()) {
        ++text_;
        at_ = 0;
        continue;
      }
      const std::size_t length = stretch_at(text, at_);
      line_ = text.substr(at_, length);
      at_ += std::max<std::size_t>(length, 1);
      if (length > 0 && ++skipped == every_) return;
    }
  }
  const std::string& value() const override { return line_; }
  Status status() const override { return {}; }

 private:
  const std::vector<std::string_view>& texts_;
  std::size_t text_ = 0, at_ = 0, every_ = 1;
  std::string line_;
};

std::string with_spaces(std::string_view piece) {
  std::string word;
  for (std::size_t at = 0; at < piece.size();) {
    const bool is_space = piece.substr(at).starts_with(space_sign);
    word += is_space ? ' ' : piece[at];
    at += is_space ? space_sign.size() : 1;
  }
  return word;
}

// Returns the length-delimited fields with this number in a protocol buffer message. Throws Error when the message is
// invalid.
std::vector<std::string_view> fields(std::string_view message, std::uint64_t wanted) {
  std::vector<std::string_view> found;
  const auto number = [&] {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && !message.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(message[0]);
      message.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    fail("the subwords cannot be read: they are truncated");
  };
  const auto skip = [&](std::uint64_t bytes) {
    if (bytes > message.size()) fail("the subwords cannot be read: they are truncated");
    message.remove_prefix(bytes);
  };
  while (!message.empty()) {
    const std::uint64_t tag = number();
    constexpr std::uint64_t varint = 0, eight_bytes = 1, with_length = 2, four_bytes = 5;
    switch (tag & 7U) {
      case varint:
        number();
        break;
      case eight_bytes:
        skip(8);
        break;
      case four_bytes:
        skip(4);
        break;
      case with_length: {
        const std::uint64_t bytes = number();
        const std::string_view content = message.substr(0, bytes);
        skip(bytes);
        if (tag >> 3 == wanted) found.push_back(content);
        break;
      }
      default:
        fail("the subwords cannot be read: they hold a field of an unknown kind");
    }
  }
  return found;
}

// Rejects models that heed did not learn: those that change the text before or after tokenization, by a table whose
// numbers SentencePiece trusts as memory offsets, and those with self tests, whose results it prints.
void refuse_normalisation(std::string_view model) {
  constexpr std::uint64_t normalizer = 3, self_test = 4, denormalizer = 5, table = 2;  // in sentencepiece_model.proto
  bool changes = false;
  for (const std::uint64_t spec : {normalizer, denormalizer}) {
    for (const std::string_view message : fields(model, spec)) {
      for (const std::string_view content : fields(message, table)) changes = changes || !content.empty();
    }
  }
  for (const std::string_view tests : fields(model, self_test)) changes = changes || !tests.empty();
  if (changes) fail("the subwords cannot be read: they normalise text or contain self tests");
}

// Returns SentencePiece's message without its source location, which ends in ']'.
std::string reason_of(const Status& status) {
  const std::string text = status.ToString();
  return text.substr(text.rfind(']') + 1);
}

}  // namespace

struct Subwords::Processor {
  sentencepiece::SentencePieceProcessor pieces;
  std::array<int, 256> number_of_byte{};
};

Subwords Subwords::learn(const std::vector<std::string_view>& texts, int size) {
  Lines lines(texts);
  if (lines.done()) {
    fail(
        "data.tokens: subwords are learned from lines of UTF-8; the text has only line ends, NUL, U+2581 and "
        "invalid bytes, or is empty");
  }
  std::string model;
  const auto status =
      sentencepiece::SentencePieceTrainer::Train({{"model_type", "bpe"},
                                                  {"vocab_size", std::to_string(size)},
                                                  {"hard_vocab_limit", "false"},
                                                  {"character_coverage", "0.9999"},
                                                  {"byte_fallback", "true"},
                                                  {"normalization_rule_name", "identity"},
                                                  {"add_dummy_prefix", "false"},
                                                  {"remove_extra_whitespaces", "false"},
                                                  {"max_sentence_length", std::to_string(max_stretch + 4)},
                                                  {"unk_id", "0"},
                                                  {"bos_id", "-1"},
                                                  {"eos_id", "-1"},
                                                  {"num_threads", "1"},
                                                  {"minloglevel", "2"}},
                                                 &lines, &model);
  if (!status.ok()) {
    const std::string reason = reason_of(status);
    const std::size_t needed = reason.find(" vs ");
    if (needed != reason.npos && reason.starts_with(" Vocabulary size is smaller")) {
      fail(
          "data.vocabulary: expected at least {}, the number of different characters in the text and of byte values, "
          "got {}",
          std::atoi(reason.c_str() + needed + 4), size);
    }
    fail("data.vocabulary: {} subwords cannot be learned from this text:{}", size, reason);
  }
  return Subwords(model);
}

Subwords::Subwords(const std::string& model) : model_(model) {
  const auto processor = std::make_shared<Processor>();
  processor->number_of_byte.fill(-1);
  refuse_normalisation(model);
  if (!processor->pieces.LoadFromSerializedProto(model).ok()) fail("the subwords cannot be read: they are damaged");
  for (int number = 0; number < processor->pieces.GetPieceSize(); ++number) {
    const std::string& piece = processor->pieces.IdToPiece(number);
    words_.push_back(processor->pieces.IsByte(number) ? piece : with_spaces(piece));
    if (processor->pieces.IsByte(number)) {
      processor->number_of_byte.at(std::stoul(piece.substr(3, 2), nullptr, 16)) = number;
    }
  }
  if (std::ranges::find(processor->number_of_byte, -1) != processor->number_of_byte.end()) {
    fail("the subwords cannot be read: some bytes are missing");
  }
  processor_ = processor;
}

void Subwords::each(std::string_view text, const std::function<void(std::string_view word)>& visit) const {
  const auto word = [&](int number) -> const std::string& { return words_[static_cast<std::size_t>(number)]; };
  const auto visit_bytes = [&](std::string_view bytes) {
    for (const char byte : bytes) visit(word(processor_->number_of_byte[static_cast<unsigned char>(byte)]));
  };
  std::vector<int> numbers;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t length = stretch_at(text, begin);
    if (length == 0) {
      visit_bytes(text.substr(begin, 1));
      ++begin;
      continue;
    }
    const std::string_view stretch = text.substr(begin, length);
    begin += length;
    std::string again;
    const bool is_cut = processor_->pieces.Encode({stretch.data(), stretch.size()}, &numbers).ok();
    for (const int number : numbers) {
      if (processor_->pieces.IsByte(number)) {
        again += static_cast<char>(std::ranges::find(processor_->number_of_byte, number) -
                                   processor_->number_of_byte.begin());
      } else {
        again += word(number);
      }
    }
    if (is_cut && again == stretch) {
      for (const int number : numbers) visit(word(number));
    } else {
      visit_bytes(stretch);  // SentencePiece would change it
    }
  }
}

}  // namespace heed
