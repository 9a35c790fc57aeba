#!/usr/bin/env python3
"""make_tokenizers.py OUT [VOCABULARY [LINES]]: writes tokenizers like those of well-known models, and the results of the Hugging
Face `tokenizers` package for difficult lines. OUT gets lines.bin, and NAME.json and NAME.digests for each tokenizer.

  python3 -m venv VENV && VENV/bin/pip install tokenizers sentencepiece protobuf xxhash
  VENV/bin/python tests/golden/make_tokenizers.py tests/golden/tokenizers

Each record of lines.bin is a length (4 bytes, little-endian) and a text. Each line of NAME.digests is the XXH64 of "IDS|TEXT"
for a record: its ids, including special tokens, and the text that they decode to without them. With LINES, NAME.ids gets
"IDS|TEXT" itself, TEXT in hexadecimal. Without arguments after OUT, the files are those in the tree: about 300 tokens and 250
lines.
"""
import base64
import io
import json
import random
import struct
import sys
import unicodedata
from pathlib import Path

import sentencepiece
import xxhash
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

ROOT = Path(__file__).resolve().parents[2]
OUT = Path(sys.argv[1])
SIZE = int(sys.argv[2]) if len(sys.argv) > 2 else 300
LINES = int(sys.argv[3]) if len(sys.argv) > 3 else 250
TEXT = [line for name in ["README.md", "README.zh-CN.md", "docs/tutorial/self-attention.md", "docs/explanation/coreference.md"]
        for line in (ROOT / name).read_text().splitlines() if line.strip()]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
ALPHABET = pre_tokenizers.ByteLevel.alphabet()
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")


def special(content, **options):
    return AddedToken(content, special=True, normalized=options.pop("normalized", False), **options)


def byte_level(pre_tokenizer, **options):
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(TEXT, trainers.BpeTrainer(vocab_size=SIZE + 100, initial_alphabet=ALPHABET, show_progress=False))
    return tokenizer


def gpt2():
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.add_special_tokens([special("<|endoftext|>")])
    return tokenizer


def roberta():
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True))
    tokenizer.add_special_tokens([special("<s>"), special("<pad>"), special("</s>"), special("<unk>"), special("<mask>", lstrip=True)])
    ids = {name: tokenizer.token_to_id(name) for name in ("<s>", "</s>")}
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", ids["</s>"]), ("<s>", ids["<s>"]))
    return tokenizer


def llama3():
    words = pre_tokenizers.Split(Regex(LLAMA3), "isolated")
    tokenizer = byte_level(pre_tokenizers.Sequence([words, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))
    tokenizer.add_special_tokens([special("<|begin_of_text|>"), special("<|end_of_text|>")])
    begin = tokenizer.token_to_id("<|begin_of_text|>")
    template = processors.TemplateProcessing(single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A <|begin_of_text|>:1 $B:1",
                                             special_tokens=[("<|begin_of_text|>", begin)])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    content = json.loads(tokenizer.to_str())
    content["model"]["ignore_merges"] = True
    if len(content["model"]["merges"]) > 60:  # leaves a token that no merge produces
        content["model"]["merges"] = [m for m in content["model"]["merges"] if "".join(m) != "\u0120the"]
    return Tokenizer.from_str(json.dumps(content))


def qwen2():
    words = pre_tokenizers.Split(Regex(QWEN2), "isolated")
    tokenizer = byte_level(pre_tokenizers.Sequence([words, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=False)
    tokenizer.add_special_tokens([special("<|endoftext|>"), special("<|im_start|>"), special("<|im_end|>")])
    return tokenizer


def neox():
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=True)
    tokenizer.add_special_tokens([special("<|endoftext|>"), special("<|padding|>")])
    tokenizer.add_tokens([AddedToken(" " * n, normalized=True) for n in range(12, 1, -1)])
    return tokenizer


def starcoder():
    return byte_level(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False)]))


def deepseek():
    parts = [pre_tokenizers.Split(Regex(r"[\r\n]"), "isolated"), pre_tokenizers.Split(Regex(r"\s?\p{L}+"), "isolated"),
             pre_tokenizers.Split(Regex(r"\s?\p{P}+"), "isolated"), pre_tokenizers.Split(Regex("[一-龥ࠀ-一가-퟿]+"), "isolated"),
             pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    return byte_level(pre_tokenizers.Sequence(parts))


def bloom():
    words = pre_tokenizers.Split(Regex(r" ?[^(\s|[.,!?…。，、।۔،])]+"), "isolated")
    return byte_level(pre_tokenizers.Sequence([words, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))


def bert(lowercase):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(TEXT, trainers.WordPieceTrainer(vocab_size=SIZE + 100, limit_alphabet=120, special_tokens=names, show_progress=False))
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                                             special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tokenizer


def with_byte_fallback(names):
    """A BPE model with a metaspace, <unk>, and a token for each byte."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.train_from_iterator(TEXT, trainers.BpeTrainer(vocab_size=SIZE + 260, limit_alphabet=100, special_tokens=names + BYTES, show_progress=False))
    content = json.loads(tokenizer.to_str())
    content["added_tokens"] = [token for token in content["added_tokens"] if token["content"] in names]
    tokenizer = Tokenizer.from_str(json.dumps(content))
    tokenizer.pre_tokenizer = None
    return tokenizer


def begin(tokenizer, name):
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{name} $A", pair=f"{name} $A {name}:1 $B:1",
                                                             special_tokens=[(name, tokenizer.token_to_id(name))])
    return tokenizer


def llama2():
    tokenizer = with_byte_fallback(["<unk>", "<s>", "</s>"])
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    return begin(tokenizer, "<s>")


def phi3():
    tokenizer = llama2()
    tokenizer.add_tokens([special("<|user|>", rstrip=True), special("<|end|>", rstrip=True), AddedToken("maxlength", single_word=True)])
    return tokenizer


def mistral():
    tokenizer = with_byte_fallback(["<unk>", "<s>", "</s>"])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    return begin(tokenizer, "<s>")


def gemma():
    tokenizer = with_byte_fallback(["<pad>", "<eos>", "<bos>", "<unk>"])
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return begin(tokenizer, "<bos>")


def charsmap(rules):
    """SentencePiece's table of replacements: all of nmt_nfkc, or a few of them that fit in the tree."""
    small = "FF21\t41\nFF41\t61\n3000\t20\nA0\t20\n65 301\tE9\n301\t\n2126\t3A9\nFB01\t66 69\nAC00 11A8\tAC01\n9\t20\nD\t\n200D\t\nBD\t31 2F 32\n"
    rule_file = OUT / "rules.tsv"
    rule_file.write_text(small)
    chosen = {"normalization_rule_tsv": str(rule_file)} if rules == "small" else {"normalization_rule_name": rules}
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(TEXT), model_writer=model, vocab_size=1000, hard_vocab_limit=False,
                                             model_type="char", minloglevel=2, **chosen)
    rule_file.unlink()
    from sentencepiece import sentencepiece_model_pb2
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    return base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()


def unigram(normalizer, pre_tokenizer, names, unknown, bytes_too=False):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.Metaspace()
    lines = [line for line in TEXT if line.isascii()]  # few characters: each becomes a token
    tokenizer.train_from_iterator(lines, trainers.UnigramTrainer(vocab_size=SIZE + 100, special_tokens=names, unk_token=unknown, show_progress=False))
    content = json.loads(tokenizer.to_str())
    if bytes_too:
        content["model"]["byte_fallback"] = True
        content["model"]["vocab"] += [[name, 0.0] for name in BYTES]
    return Tokenizer.from_str(json.dumps(content))


def precompiled():
    return normalizers.Precompiled(base64.b64decode(charsmap("small" if SIZE == 300 else "nmt_nfkc")))


def t5():
    words = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer = unigram(precompiled(), words, ["<pad>", "</s>", "<unk>"], "<unk>")
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    return tokenizer


def xlm_roberta():
    normalizer = normalizers.Sequence([precompiled(), normalizers.Strip(left=False, right=True), normalizers.Replace(Regex(" {2,}"), "▁")])
    tokenizer = unigram(normalizer, pre_tokenizers.Metaspace(), ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], "<unk>", bytes_too=True)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>",
                                                             special_tokens=[("<s>", 0), ("</s>", 2)])
    return tokenizer


def albert():
    normalizer = normalizers.Sequence([normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(),
                                       normalizers.StripAccents(), normalizers.Lowercase()])
    return unigram(normalizer, pre_tokenizers.Metaspace(), ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"], "<unk>")


def word_level():
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Nmt(), normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation("contiguous"),
                                                       pre_tokenizers.Digits()])
    tokenizer.train_from_iterator(TEXT, trainers.WordLevelTrainer(vocab_size=SIZE, special_tokens=["[UNK]"], show_progress=False))
    return tokenizer


def splits():
    """Every behaviour of a split, inverted and not; NFD; a token within words."""
    parts = [pre_tokenizers.Split("a", "merged_with_previous"), pre_tokenizers.Split(Regex("[,;]+"), "removed"),
             pre_tokenizers.Split(Regex(r"\w+"), "contiguous", invert=True), pre_tokenizers.Split("=", "merged_with_next"),
             pre_tokenizers.Split(Regex(r"\d|x"), "isolated"), pre_tokenizers.Metaspace(prepend_scheme="never")]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.NFD()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(parts)
    tokenizer.train_from_iterator(TEXT, trainers.BpeTrainer(vocab_size=SIZE, limit_alphabet=90, special_tokens=["<unk>"],
                                                            continuing_subword_prefix="##", end_of_word_suffix="</w>", show_progress=False))
    tokenizer.decoder = decoders.BPEDecoder()
    tokenizer.add_tokens([AddedToken("café", normalized=True, lstrip=True, rstrip=True), AddedToken("the", single_word=True, normalized=True)])
    return tokenizer


SHAPES = {"gpt2": gpt2, "roberta": roberta, "llama3": llama3, "qwen2": qwen2, "neox": neox, "starcoder": starcoder,
          "deepseek": deepseek, "bloom": bloom, "bert_uncased": lambda: bert(True), "bert_cased": lambda: bert(False), "llama2": llama2, "phi3": phi3,
          "mistral": mistral, "gemma": gemma, "t5": t5, "xlm_roberta": xlm_roberta, "albert": albert, "word_level": word_level,
          "splits": splits}

SCRIPTS = {"latin": (0xC0, 0x24F), "greek": (0x370, 0x3FF), "cyrillic": (0x400, 0x52F), "armenian": (0x531, 0x58A), "hebrew": (0x591, 0x5F4),
           "arabic": (0x600, 0x6FF), "devanagari": (0x900, 0x97F), "bengali": (0x980, 0x9FE), "tamil": (0xB82, 0xBFA), "thai": (0xE01, 0xE5B),
           "myanmar": (0x1000, 0x109F), "georgian": (0x10A0, 0x10FF), "jamo": (0x1100, 0x11FF), "ethiopic": (0x1200, 0x137C), "khmer": (0x1780, 0x17F9),
           "extended": (0x1E00, 0x1EFF), "kana": (0x3041, 0x30FF), "han": (0x4E00, 0x9FA5), "hangul": (0xAC00, 0xD7A3), "compatible": (0xF900, 0xFAD9),
           "arabic forms": (0xFB50, 0xFDFC), "wide": (0xFF01, 0xFFEE), "gothic": (0x10330, 0x1034A), "letters": (0x1D400, 0x1D7FF),
           "more han": (0x20000, 0x2A6D6)}
SPACES = "\t\n\v\f\r \u0085\u00a0\u1680\u180e\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u200b\u200c\u200d\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
CONTROLS = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0)]))
EMOJI = ["👩‍👩‍👧", "👨🏽‍🚀", "🏳️‍🌈", "🇩🇪", "❤️", "😀", "🤷🏾‍♀️", "1️⃣", "🧑‍🤝‍🧑"]
NAMES = ["<s>", "</s>", "<unk>", "<pad>", "<mask>", " <mask> ", "[CLS]", "[SEP]", "[MASK]", "<|endoftext|>", "<|user|>\n ", "<|end|>",
         "<|im_start|>", "<bos>", "maxlength", "the", " café ", "<0x41>", "▁", "Ġ", "##s", "</w>", "''", "``", "don't", "I'LL", "it's", "ſ", "'ſ", "ﬁ", "İ", "ß", "Σ", "ς"]


def assigned(first, last):
    return [chr(c) for c in range(first, last + 1) if unicodedata.category(chr(c)) not in ("Cn", "Cs")]


def make_lines(count):
    rng = random.Random(1)
    scripts = [assigned(*limits) for limits in SCRIPTS.values()]
    everything = assigned(0, 0x2FA1F)
    fixed = ["", " ", "  ", "a", "\n", " \n ", CONTROLS, SPACES, "".join(EMOJI), " ".join(NAMES), "x" * 300, " " * 50 + "x", "\n" * 20, "á" * 40,
             "a\u0301\u0323\u0301\u0327" * 5, "The animal didn't cross the street because it was too tired.", "它没有过马路，因为它太累了。", "\ufeffBOM"]
    fixed += [f"a{c}b" for c in CONTROLS + SPACES][:: 1 if count > 1000 else 9]

    def word():
        kind = rng.randrange(12)
        if kind < 4:
            return "".join(rng.choice(rng.choice(TEXT).split()) for _ in range(1))
        if kind < 7:
            letters = rng.choice(scripts)
            return "".join(rng.choice(letters) for _ in range(rng.randint(1, 6)))
        if kind == 7:
            return rng.choice(EMOJI)
        if kind == 8:
            return rng.choice(NAMES)
        if kind == 9:
            return "".join(rng.choice(everything) for _ in range(rng.randint(1, 4)))
        if kind == 10:
            return str(rng.randrange(10 ** rng.randint(1, 9)))
        return "".join(rng.choice("aeiou\u0301\u0308\u0327" + CONTROLS) for _ in range(rng.randint(1, 4)))

    def line():
        return "".join(word() + (rng.choice(SPACES) if rng.random() < 0.2 else rng.choice(["", " ", " ", " ", "  "])) for _ in range(rng.randint(1, 10)))

    return (fixed + [line() for _ in range(max(0, count - len(fixed)))])[:count]


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    lines = make_lines(LINES)
    (OUT / "lines.bin").write_bytes(b"".join(struct.pack("<I", len(line.encode())) + line.encode() for line in lines))
    for name, make in SHAPES.items():
        tokenizer = make()
        (OUT / f"{name}.json").write_text(tokenizer.to_str(pretty=False))
        tokenizer = Tokenizer.from_file(str(OUT / f"{name}.json"))
        results = []
        for line in lines:
            ids = tokenizer.encode(line).ids
            results.append((" ".join(map(str, ids)), tokenizer.decode(ids).encode()))
        if len(sys.argv) > 3:
            (OUT / f"{name}.ids").write_text("".join(f"{ids}|{text.hex()}\n" for ids, text in results))
        else:
            digests = (xxhash.xxh64_hexdigest(f"{ids}|".encode() + text) for ids, text in results)
            (OUT / f"{name}.digests").write_text("".join(digest + "\n" for digest in digests))


main()
