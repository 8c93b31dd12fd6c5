#!/usr/bin/env python3
"""Writes tests/tokenizers/: small tokenizers, trained on this project's documentation by Hugging Face's
tokenizers, and what that library makes of many texts.

    pip install tokenizers sentencepiece
    python3 tests/make_tokenizer_fixtures.py

NAME.json is the tokenizer; NAME.cases.json a list of [text, ids, text of the ids with special tokens],
without the latter where it is the text.  pairs.json is a list of [tokenizer, text, second text or null, most
ids or 0, strategy, direction, ids, segments].

sp_NAME.model is a tokenizer of SentencePiece; sp_NAME.cases.json a list of [text, ids].

patterns.json is a list of [pattern, [text, ends of the pieces in bytes], ...], of which the library refuses
those without texts.
"""
import glob
import json
import os

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        processors, trainers)

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'tokenizers')

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace('{1,3}', '')
GPT4O = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
         r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
         r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")

TEXTS = [
    '', ' ', '  ', '   ', 'a', ' a', 'a ', 'a  ', ' a b', '\n', '\n\n', '\n\n\n a', '\t', '\t\ta', '\r\n',
    'one\r\ntwo\r\n\r\nthree', 'the end', 'the  end', 'the   end   ', 'the\nend', 'the \n end', ' \n \n ',
    "don't", "DON'T", "we'll they've I'm you're he'd it's", "WE'LL THEY'VE I'M YOU'RE HE'D IT'S",
    "'s", "' s", "''s", "x'sy", "'ſ it'ſ", "l'été", "'lla 'rex 'Tis",
    '1', '12', '123', '1234', '12345', '1234567890123', '3.14159', '1,000,000', 'x86_64', 'v1.2.3-rc4',
    '½ ¼ Ⅳ ² ³', '٠١٢٣ ४५६ １２３', 'a1b22c333d4444', ' 2024 ', '$100 €200 50%',
    'ied 4 ½ months', 'Führer', 'naïve café résumé', 'e\u0301 vs é', 'a\u030a\u0323 ≠ a\u0323\u030a',
    'ﬁ ﬂ ㎏ ① Å Ω', 'ẛ̣', '각 각', 'İstanbul ıI ẞß ΣΑΣ', 'Ｆｕｌｌｗｉｄｔｈ',
    '你好，世界！', '日本語のテキスト', '한국어 텍스트', 'Привет, мир!', 'مرحبا بالعالم', 'שלום עולם',
    'नमस्ते दुनिया', 'สวัสดีชาวโลก', '𝕳𝖊𝖑𝖑𝖔 𝒘𝒐𝒓𝒍𝒅', '🦙', '😀😃😄', '👨\u200d👩\u200d👧\u200d👦', '🇩🇪🇯🇵', '👍🏽 ok', '❤️',
    'nb\u00a0sp', '\u00a0', '\u00a0\u00a0x', 'em\u2003space\u3000wide', 'zero\u200bwidth\ufeffbom', 'line\u2028sep\u0085nel',
    '\u180evowel', 'a\0b', '\0', '\x01\x02\x7f', '\x01first', '\ufffd\uffff', '\U0010ffff',
    'def f(x):\n    return x + 1\n', '{"key": [1, 2.5, null]}', 'https://example.org/a?b=c&d=e#f', 'a_b-c.d/e\\f',
    '<html><body class="x">&amp;</body></html>', '#!/bin/sh\nset -eu\n', 'C++ != C#', '... --- ...', '!!!???', '====',
    '----------------', '   leading and trailing   ', '\n leading newline', 'trailing newline\n', 'tabs\tand  spaces \t mixed',
    '<|endoftext|>', 'a<|endoftext|>b', ' <|endoftext|> ', '<|endoftext|><|endoftext|>', '<|endoftext', '<|ENDOFTEXT|>',
    '<s>', '<s> a </s>', 'a<s>b</s>c', '<s></s>', '</s >', '<unk>', 'x <unk> y', '<0x41>', '<0x0A> <0xE2>',
    '▁', '▁a', 'a▁b', '▁▁ ▁', ' ▁', '[MASK]', 'a [MASK] b', 'a  [MASK]  b', 'a[MASK]b', '\t[MASK]\n',
    'left <L> right', 'left   <L>   right', 'right <R> left', 'right   <R>   left', '<L><R><L>', '<R> <L>', ' <L> <R> ',
    'word', 'keyword', 'a keyword b', 'keywords', '(keyword)', 'keyword_', 'ékeyword', 'keyword keyword', 'Norm', 'norm NORM nOrM',
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'abababababababababab', 'the the the the', 'thethethethe', 'Crescent is a graph compiler.',
    'Each function of the runtime states its rounding order; no bit of any result changes by threads.',
]


def corpus():
    for path in sorted(glob.glob(os.path.join(FOLDER, '../../docs/*.md'))):
        with open(path, encoding='utf8') as file:
            yield from file.read().split('\n')
    yield from TEXTS * 3


def special(content, **how):
    return AddedToken(content, special=True, normalized=False, **how)


def byte_level(size, pre_tokenizer, normalizer=None, ignore_merges=False):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=size, special_tokens=[special('<|endoftext|>')], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return tokenizer


def gpt2():
    tokenizer = byte_level(420, pre_tokenizers.ByteLevel(add_prefix_space=False))
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def prefixed():
    """Spaces in front, and tokens of all kinds."""
    tokenizer = byte_level(360, pre_tokenizers.ByteLevel(add_prefix_space=True), normalizers.Lowercase())
    tokenizer.add_special_tokens([special('[MASK]', lstrip=True, rstrip=True), special('<L>', lstrip=True),
                                  special('<R>', rstrip=True)])
    tokenizer.add_tokens([AddedToken('keyword', single_word=True, normalized=False),
                          AddedToken('Norm', normalized=True), AddedToken('the end', normalized=False)])
    tokenizer.post_processor = processors.RobertaProcessing(('</s>', 0), ('<|endoftext|>', 0))
    return tokenizer


def added():
    """Tokens of all kinds, and nothing that changes text."""
    tokenizer = byte_level(300, pre_tokenizers.ByteLevel(add_prefix_space=False))
    tokenizer.add_special_tokens([special('[MASK]', lstrip=True, rstrip=True), special('<L>', lstrip=True),
                                  special('<R>', rstrip=True), special('word', single_word=True)])
    tokenizer.add_tokens([AddedToken('keyword', single_word=True, normalized=True),
                          AddedToken('the', normalized=True), AddedToken('the end', normalized=False),
                          AddedToken('end ', normalized=True, rstrip=True)])
    return tokenizer


def llama3():
    tokenizer = byte_level(430, pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3), 'isolated'),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]), ignore_merges=True)
    model = json.loads(tokenizer.to_str())
    # Tokens that no merge makes: they are found whole.
    for text in 'Ġcompiler', 'Crescent', 'Ġzzz':
        model['model']['vocab'].setdefault(text, len(model['model']['vocab']))
    tokenizer = Tokenizer.from_str(json.dumps(model))
    tokenizer.add_special_tokens([special('<s>'), special('</s>')])
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single='<s> $A', pair='<s> $A <s> $B',
                                      special_tokens=[('<s>', tokenizer.token_to_id('<s>'))])])
    return tokenizer


def qwen2():
    return byte_level(360, pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(QWEN2), 'isolated'),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]), normalizers.NFC())


def gpt4o():
    """A pattern that no scanner knows."""
    return byte_level(350, pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(GPT4O), 'removed', invert=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))


def pieces(size, bytes_too=True, **how):
    """As SentencePiece would, with all bytes as tokens."""
    tokenizer = Tokenizer(models.BPE(unk_token='<unk>', fuse_unk=how.get('fuse_unk', True),
                                     byte_fallback=bytes_too))
    tokenizer.normalizer = normalizers.Replace(' ', '▁')
    tokenizer.pre_tokenizer = pre_tokenizers.Split('▁', 'merged_with_next')
    specials = ['<unk>', '<s>', '</s>'] + ['<0x%02X>' % i for i in range(256 if bytes_too else 0)]
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=size, special_tokens=specials, limit_alphabet=90, show_progress=False))
    model = json.loads(tokenizer.to_str())
    model['added_tokens'] = model['added_tokens'][:3]
    model['pre_tokenizer'] = model['normalizer'] = None
    tokenizer = Tokenizer.from_str(json.dumps(model))
    tokenizer.post_processor = processors.TemplateProcessing(
        single='<s> $A', pair='<s> $A <s> $B', special_tokens=[('<s>', 1)])
    return tokenizer


def spm_prepend():
    """Llama 2's: what is put in front and spaces are matters of normalizers."""
    tokenizer = pieces(470)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend('▁'), normalizers.Replace(' ', '▁')])
    tokenizer.decoder = decoders.Sequence([decoders.Replace('▁', ' '), decoders.ByteFallback(), decoders.Fuse(),
                                           decoders.Strip(' ', 1, 0)])
    return tokenizer


def spm_first():
    """The same by Metaspace, which does not cut."""
    tokenizer = pieces(440)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme='first', split=False)
    tokenizer.decoder = decoders.Sequence([decoders.Replace('▁', ' '), decoders.ByteFallback(), decoders.Fuse(),
                                           decoders.Strip(' ', 1, 0)])
    tokenizer.add_tokens([AddedToken('keyword', single_word=True), AddedToken('the end')])
    return tokenizer


def spm_always():
    """Metaspace in front of every piece, without bytes: what is not known is <unk>, one for each."""
    tokenizer = pieces(230, bytes_too=False, fuse_unk=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme='always', split=True)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme='always', split=True)
    tokenizer.post_processor = processors.TemplateProcessing(
        single='<s> $A </s>', pair='<s> $A $B </s>', special_tokens=[('<s>', 1), ('</s>', 2)])
    return tokenizer


def gemma():
    """Spaces by a normalizer alone; cut, if at all, before they are."""
    tokenizer = pieces(430)
    tokenizer.normalizer = normalizers.Replace(' ', '▁')
    tokenizer.pre_tokenizer = pre_tokenizers.Split(' ', 'merged_with_previous')
    tokenizer.decoder = decoders.Sequence([decoders.Replace('▁', ' '), decoders.ByteFallback(), decoders.Fuse()])
    return tokenizer


def parts():
    """Parts that models have seldom."""
    tokenizer = pieces(260, bytes_too=False)
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.NFKD(), normalizers.StripAccents(), normalizers.Strip(left=True, right=True),
        normalizers.Replace(Regex(r'\s{2,}'), ' '), normalizers.Replace(Regex('`+'), "'")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Punctuation('merged_with_previous'),
        pre_tokenizers.WhitespaceSplit()])
    tokenizer.post_processor = processors.ByteLevel()
    return without_decoder(tokenizer)


def without_decoder(tokenizer):
    model = json.loads(tokenizer.to_str())
    model['decoder'] = None
    return Tokenizer.from_str(json.dumps(model))


def words():
    tokenizer = pieces(260, bytes_too=False)
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation('contiguous'), pre_tokenizers.Digits()])
    return without_decoder(tokenizer)


def bert(normalizer, cut, **how):
    tokenizer = Tokenizer(models.WordPiece(unk_token='[UNK]', **how))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = cut
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.train_from_iterator(without_zeros(), trainers.WordPieceTrainer(
        vocab_size=420, special_tokens=['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'], show_progress=False,
        limit_alphabet=120))
    tokenizer.post_processor = processors.TemplateProcessing(
        single='[CLS] $A [SEP]', pair='[CLS] $A [SEP] $B:1 [SEP]:1', special_tokens=[('[CLS]', 2), ('[SEP]', 3)])
    return tokenizer


def without_zeros():
    """Texts from which no token with the character 0 is made, which some readers of JSON refuse."""
    return (text for text in corpus() if '\0' not in text)


def bert_uncased():
    tokenizer = bert(normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer())
    tokenizer.enable_truncation(24)
    return tokenizer


def bert_cased():
    """Nothing tidied up, short words, and parts in other places."""
    tokenizer = bert(normalizers.BertNormalizer(lowercase=False, handle_chinese_chars=False), pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()]), max_input_chars_per_word=12)
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    tokenizer.post_processor = processors.BertProcessing(('[SEP]', 3), ('[CLS]', 2))
    return tokenizer


def unigram(normalizer, cut, decoder, bytes_too=False):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = cut
    specials = ['<s>', '<pad>', '</s>', '<unk>'] + ['<0x%02X>' % i for i in range(256 if bytes_too else 0)]
    tokenizer.train_from_iterator(without_zeros(), trainers.UnigramTrainer(
        vocab_size=420 + 256 * bytes_too, special_tokens=specials, unk_token='<unk>', show_progress=False))
    model = json.loads(tokenizer.to_str())
    model['model']['byte_fallback'] = bytes_too
    model['added_tokens'] = model['added_tokens'][:4]
    tokenizer = Tokenizer.from_str(json.dumps(model))
    tokenizer.decoder = decoder
    return tokenizer


def charsmap():
    """A map of a few texts in SentencePiece's form: a trie as darts-clone lays it, and the results."""
    import base64
    table = {'ﬁ': 'fi', '①': '1', '\u00a0': ' ', '\u3000': ' ', '\u200b': ' ', '\x01': '', 'e\u0301': 'é', 'Ａ': 'A',
             'ｶﾞ': 'ガ', 'ｶ': 'カ', '㎏': 'kg', '…': '...'}
    results, units, used = b'', [0] * 65536, {0}

    def place(node, entries, depth):
        labels = sorted({key[depth] if depth < len(key) else 0 for key, _ in entries})
        base = next(b for b in range(1, 65000) if all(b ^ label not in used for label in labels))
        used.update(base ^ label for label in labels)
        offset = node ^ base
        units[node] |= offset << 10 | (256 if 0 in labels else 0)
        for label in labels:
            inside = [(key, value) for key, value in entries if (key[depth] if depth < len(key) else 0) == label]
            if label:
                units[base ^ label] = label
                place(base ^ label, inside, depth + 1)
            else:
                units[base] = inside[0][1] | 1 << 31
    entries = []
    for key, value in sorted(table.items()):
        entries.append((key.encode(), len(results)))
        results += value.encode() + b'\0'
    place(0, entries, 0)
    size = (max(used) // 256 + 1) * 256  # a byte that no label is must find a unit, too
    trie = b''.join(unit.to_bytes(4, 'little') for unit in units[:size])
    return len(trie).to_bytes(4, 'little') + trie + results


def unigram_map():
    """As XLM-RoBERTa's: SentencePiece's map, and white space as visible spaces."""
    tokenizer = unigram(normalizers.Sequence([normalizers.Precompiled(charsmap()), normalizers.Strip(left=False, right=True),
                                              normalizers.Replace(Regex(' {2,}'), '▁')]),
                        pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]),
                        decoders.Metaspace())
    tokenizer.post_processor = processors.RobertaProcessing(('</s>', 2), ('<s>', 0))
    return tokenizer


def unigram_bytes():
    tokenizer = unigram(normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()]),
                        pre_tokenizers.Metaspace(prepend_scheme='first', split=False),
                        decoders.Sequence([decoders.Replace('▁', ' '), decoders.ByteFallback(), decoders.Fuse()]), True)
    return tokenizer


def spaces():
    """Tokens with visible spaces inside, which decoding removes from the first token; accents by an old table of Unicode."""
    tokenizer = Tokenizer(models.Unigram([('<unk>', 0.0), ('▁', -3.0), ('▁the▁', -2.0), ('e▁▁', -2.5), ('the', -4.0), ('a', -4.0),
                                          ('▁▁a▁a', -3.0), ('\u1cf2', -5.0), ('\U000111c9', -5.0)], 0, False))
    tokenizer.normalizer = normalizers.StripAccents()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme='first', split=False)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme='first', split=False)
    return tokenizer


def scripts():
    return unigram(normalizers.NFKC(), pre_tokenizers.Sequence([pre_tokenizers.UnicodeScripts(), pre_tokenizers.Metaspace()]),
                   decoders.Metaspace())


def word_level():
    tokenizer = Tokenizer(models.WordLevel(unk_token='<unk>'))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(without_zeros(), trainers.WordLevelTrainer(
        vocab_size=300, special_tokens=['<unk>'], show_progress=False))
    return without_decoder(tokenizer)


def fronts():
    """A visible space is put in front only if the text begins where it did before the normalizers."""
    words = [space + word for word in ('xyc', 'xc', 'c', 'b', 'the') for space in ('', '▁')]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(['<unk>', '▁'] + words)}, '<unk>'))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Replace('#', ''), normalizers.Replace('ab', 'xy'), normalizers.Replace('a', 'x'),
        normalizers.Replace(Regex('z+'), 'x'), normalizers.Replace('é', 'x')])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme='first')
    return without_decoder(tokenizer)


def leads():
    """A space is put in front of each piece that stands for the first character of the text: the character may become
    several pieces, as '½' does, or be part of a replacement."""
    words = list(dict.fromkeys(space + c for c in 'abcxye12.,!⁄\u0301\u030a\u0323i\u0307İéåạfßAΑ你好' for space in ('', '▁')))
    tokenizer = Tokenizer(models.Unigram([('<unk>', 0.0), ('▁', -2.0)] + [(word, -1.0 - i / 16) for i, word in enumerate(words)],
                                         0, False))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Replace('#', 'a.b'), normalizers.Replace('zz', 'x,'), normalizers.BertNormalizer(strip_accents=False, lowercase=False),
        normalizers.Strip(), normalizers.NFC(), normalizers.NFKD(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex('\\p{M}'), 'isolated'), pre_tokenizers.Split('⁄', 'isolated'), pre_tokenizers.Punctuation(),
        pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Metaspace(prepend_scheme='first', split=False)])
    return without_decoder(tokenizer)


CLIP = r"""<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"""


def clip():
    """The last letter of a word has a token of its own, and so has each byte there."""
    tokenizer = Tokenizer(models.BPE(unk_token='<|endoftext|>', end_of_word_suffix='</w>'))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r'\s+'), ' '),
                                                 normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(CLIP), 'removed', invert=True),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=520, special_tokens=[special('<|startoftext|>'), special('<|endoftext|>')], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), end_of_word_suffix='</w>'))
    model = json.loads(tokenizer.to_str())
    for letter in sorted(pre_tokenizers.ByteLevel.alphabet()):
        model['model']['vocab'].setdefault(letter + '</w>', len(model['model']['vocab']))
    tokenizer = Tokenizer.from_str(json.dumps(model))
    tokenizer.post_processor = processors.RobertaProcessing(('<|endoftext|>', 1), ('<|startoftext|>', 0),
                                                            trim_offsets=False, add_prefix_space=False)
    return tokenizer


def affixes():
    """The first letter of a word and the last one have tokens of their own; as OpenAI's first GPT otherwise."""
    tokenizer = Tokenizer(models.BPE(unk_token='<unk>', fuse_unk=True))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.BPEDecoder(suffix='</w>')
    tokenizer.train_from_iterator(without_zeros(), trainers.BpeTrainer(
        vocab_size=480, special_tokens=[special('<unk>'), special('<s>'), special('</s>')], show_progress=False,
        limit_alphabet=60, continuing_subword_prefix='##', end_of_word_suffix='</w>'))
    tokenizer.post_processor = processors.TemplateProcessing(
        single='<s> $A </s>', pair='<s> $A </s> $B:1 </s>:1', special_tokens=[('<s>', 1), ('</s>', 2)])
    return tokenizer


ALL = [gpt2, prefixed, added, llama3, qwen2, gpt4o, spm_prepend, spm_first, spm_always, gemma, parts, words,
       bert_uncased, bert_cased, unigram_map, unigram_bytes, spaces, scripts, word_level,
       clip, affixes, fronts, leads]


# Where Oniguruma, which the library has, reads a pattern in another way than PCRE2, and what models cut by.
PATTERNS = [
    # cl100k as tiktoken has it: \p{N}{1,3}+ is a repetition of a repetition.
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$"
    r"|\s*[\r\n]|\s+(?!\S)|\s",
    # BLOOM, DeepSeek V3, Kimi K2.
    r" ?[^(\s|[.,!?…。，、।۔،])]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    # Repetitions.
    r'a{2}?', r'a{2}+', r'a{,2}', r'a{1,2}?', r'a{3,1}', r'a{1,2}{2}', r'(?:ab?){1,2}+', r'a??b', r'a+?+', r'a{x}', r'{', r'a{2,}?1',
    # Options: m is for dots, those that stand alone hold up to the end of the group.
    r'(?m:a.)', r'a.', r'(?m)1.(?-m).', r'b|a(?i)b|c', r'(?x: a \ b # c' '\n' r')', r"(?i)'(s|t)|k", r'(?i:[^sk])', r'(?#a)1(?#b)+',
    # Classes inside classes, and what they share.
    r'[a[bc]]+', r'[^a[^bc]]+', r'[a-z&&[^aeiou]]+', r'[^a-z&&[^aeiou]]+', r'[a&&]', r'[\w&&\S&&[^\d]]+', r'[]a]+', r'[a-]+', r'[--1]+',
    r'[0-9-a]+', r'[[:punct:]]+', r'[[:^alpha:]]+', r'[[:word:]]+', r'[:a]+', r'[\W1]+', r'[\H]+', r'[\b]', r'[\xc3\xa9]+',
    # Words, and other escapes.
    r'\b', r'\B', r'\w+', r'\W+', r'\h+', r'\v', r'\R', r'\N+', r'\O', r'\p{^L}+', r'\P{^Lu}', r'\p{Han}+', r'\p{Greek}+', r'\p{Punct}+',
    r'\p{PosixPunct}+', r'\p{Lowercase Letter}+', r'\xe6\xbc\xa2', r'\u00e9', r'\x{1f999}', r'\141', r'(a|b)\1', r'\e|\j|\q', r'\Ga',
    # Ends.
    r'^', r'$', r'\A.', r'.\Z', r'.\z', r'(?<=a)b', r'(?<!a)b', r'(?>a+)b', r'(?<n>a)(b)', r'a\Kb', r'',
    # What is no expression.
    r'(', r')', r'[', r'[]', r'*a', r'a|{1,2}', r'^*', r'(?s:.)', r'(?P<n>a)', r'[b-a]', r'[\w-z]', r'[a-\d]', r'[[:alpho:]]', r'\p{Nope}', r'\p{',
    '\\', r'(?:a', r'\u12',
]

PATTERN_TEXTS = [
    "½1234567 12 1", "it'S don't weSK'ſ", 'a\u0301b é\u0308 漢字、。カタカナー αβ\u1fbd ǅ ab', 'aab abab aAbBcC aa{x}{ 2,', '\n\na\r\n b\n', '$+<=>^`|~ !"#-.:_[]',
    ' \u00a0\u2028\u0085\x0b\x1c\t ', 'x²³¹¼½ⓐ\u200d_1٣Ⅳ', 'abc-def--19 a1b2', '🦙👍🏽\u0301 \b\x1bj', '', 'a.b,c!d?e…f。g，h、i।j۔k،l(m|n)',
]


def pattern_cases(pattern):
    try:
        split = pre_tokenizers.Split(Regex(pattern), 'isolated')
    except Exception:
        return [pattern]
    cases = [pattern]
    for text in PATTERN_TEXTS:
        ends = [0]
        for piece, _ in split.pre_tokenize_str(text):
            ends.append(ends[-1] + len(piece.encode()))
        cases.append([text, ends[1:]])
    return cases


MORE_TEXTS = {'leads': ['½', '½½', '#', '##', 'x#', 'zz', 'zzz', 'é', 'e\u0323\u0301', 'é\u0323', 'İ', '1', '12', '你好', '.你',
                        '각', '각.', ' ½', 'ﬃ', '\u0344', '\u0301e', '\u0301\u0323a', 'ΐ', 'ⅷ.', 'a.b', '\x01½', '你#'],
              'fronts': ['c', '#c', 'b#c', '##the', 'abc', 'ac', 'zc', 'zzc', 'éc', ' #c', '# c', 'c abc zc'],
              'spaces': ['the ', 'the a', 'the the ', 'aa a', '\u1cf2', 'a\u1cf3a', '\U000111c9', 'e\u0301 the ']}


def cases(tokenizer, more=()):
    tokenizer.no_truncation()
    for text in TEXTS + list(more):
        ids = tokenizer.encode(text).ids
        decoded = tokenizer.decode(ids, skip_special_tokens=False)
        young = '🦙' in text and 'UnicodeScripts' in tokenizer.to_str()  # the library's table of scripts lacks it
        if young or '\ufffd' in decoded and '\ufffd' not in text:
            continue
        yield [text, ids] if decoded == text else [text, ids, decoded]


SENTENCEPIECE = {
    'unigram': dict(model_type='unigram', byte_fallback=True, user_defined_symbols=['<L>', '▁▁ ']),
    'bpe': dict(model_type='bpe', remove_extra_whitespaces=False, add_dummy_prefix=False),
    'user': dict(model_type='unigram', user_defined_symbols=['keyword', 'key', '▁▁', 'the', 'a', 'aa']),
    'user_bpe': dict(model_type='bpe', user_defined_symbols=['keyword', 'key', '▁▁', 'the end', '▁']),
}


def sentencepiece_models():
    """Tokenizers of SentencePiece with rules of their own, as those that it has make 240 KB."""
    import sentencepiece
    rules = {'ﬁ': 'fi', 'A': 'a', 'B': 'b', '\u00a0': ' ', '\t': ' ', '\n': ' ', 'e\u0301': 'é', '①': '(1)', '\u200b': ''}
    with open('/tmp/rules.tsv', 'w', encoding='utf8') as file:
        for key, value in rules.items():
            file.write('\t'.join(' '.join('%X' % ord(c) for c in text) for text in (key, value)) + '\n')
    for name, how in SENTENCEPIECE.items():
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=without_zeros(), model_prefix='/tmp/sp_' + name, vocab_size=560 if name == 'unigram' else 300,
            normalization_rule_tsv='/tmp/rules.tsv', character_coverage=0.99, hard_vocab_limit=False, minloglevel=2, **how)
        with open('/tmp/sp_%s.model' % name, 'rb') as file, open('%s/sp_%s.model' % (FOLDER, name), 'wb') as to:
            to.write(file.read())
        model = sentencepiece.SentencePieceProcessor(model_file='/tmp/sp_%s.model' % name)
        with open('%s/sp_%s.cases.json' % (FOLDER, name), 'w', encoding='utf8') as file:
            lines = (json.dumps([text, model.encode(text)], ensure_ascii=False, separators=(',', ':')) for text in TEXTS
                     if not any(special in text for special in ('<s>', '</s>', '<unk>', '\0')))
            file.write('[\n' + ',\n'.join(lines) + '\n]\n')


PAIRS = [['The graph', 'A compiler'], ['', ''], ['one', ''], ['', 'two'], ['a b c d e f g h', 'i'], ['i', 'a b c d e f g h'],
         ['a b c d e f g', 'h i j k l m n o p'], ['only one text here', None]]


def pair_cases(name):
    """What a file says of pairs, and of texts that are too long."""
    for strategy, direction, most in [('longest_first', 'right', 0)] + [
            (strategy, direction, most) for strategy in ('longest_first', 'only_first', 'only_second')
            for direction in ('right', 'left') for most in (5, 8, 12)]:
        tokenizer = Tokenizer.from_file('%s/%s.json' % (FOLDER, name))
        tokenizer.no_truncation()
        if most:
            tokenizer.enable_truncation(most, strategy=strategy, direction=direction)
        for text, pair in PAIRS:
            try:
                found = tokenizer.encode(text, pair)
            except Exception:
                continue
            yield [name, text, pair, most, strategy, direction, found.ids, found.type_ids]


def main():
    os.makedirs(FOLDER, exist_ok=True)
    for make in ALL:
        tokenizer = make()
        with open('%s/%s.json' % (FOLDER, make.__name__), 'w', encoding='utf8') as file:
            json.dump(json.loads(tokenizer.to_str()), file, ensure_ascii=False, separators=(',', ':'))
            file.write('\n')
        with open('%s/%s.cases.json' % (FOLDER, make.__name__), 'w', encoding='utf8') as file:
            lines = (json.dumps(case, ensure_ascii=False, separators=(',', ':')) for case in cases(tokenizer, MORE_TEXTS.get(make.__name__, ())))
            file.write('[\n' + ',\n'.join(lines) + '\n]\n')
    sentencepiece_models()
    with open('%s/pairs.json' % FOLDER, 'w', encoding='utf8') as file:
        lines = (json.dumps(case, ensure_ascii=False, separators=(',', ':'))
                 for name in ('bert_uncased', 'bert_cased', 'unigram_map', 'llama3', 'word_level') for case in pair_cases(name))
        file.write('[\n' + ',\n'.join(lines) + '\n]\n')
    with open('%s/patterns.json' % FOLDER, 'w', encoding='utf8') as file:
        lines = (json.dumps(pattern_cases(pattern), ensure_ascii=False, separators=(',', ':')) for pattern in PATTERNS)
        file.write('[\n' + ',\n'.join(lines) + '\n]\n')


if __name__ == '__main__':
    main()
