#!/usr/bin/env python3
"""Writes compiler/tokenizer/bert_classes.inc: the classes of characters by which Hugging Face's tokenizers
library cleans and cuts text for BERT.  Its tables are those of Unicode 8, and stay that.

    pip install tokenizers
    python3 tests/make_bert_classes.py >compiler/tokenizer/bert_classes.inc
"""
from tokenizers import normalizers, pre_tokenizers

CONTROL, MARK, PUNCTUATION = 1, 2, 4


def bert(**how):
    off = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**{**off, **how})


def main():
    clean, strip, cut = bert(clean_text=True), bert(strip_accents=True), pre_tokenizers.BertPreTokenizer()
    runs, last = [], None
    for code in range(0x110000):
        kind = 0
        if not 0xd800 <= code < 0xe000:
            character = chr(code)
            kind = (CONTROL * (clean.normalize_str('a' + character + 'b') == 'ab') +
                    MARK * (strip.normalize_str('a' + character) == 'a') +
                    PUNCTUATION * (len(cut.pre_tokenize_str('a' + character + 'b')) == 3))
        if kind != last:
            runs.append(code * 16 + kind)
            last = kind
    print('/*\n * bert_classes.inc - where runs of characters of one class begin, for BERT: 16 times the first\n'
          ' * character, plus CR_BERT_CONTROL, CR_BERT_MARK and CR_BERT_PUNCTUATION.\n *\n'
          ' * Written by tests/make_bert_classes.py; characters younger than Unicode 8 have no class.\n */\n\n'
          'enum { CR_BERT_CONTROL = 1, CR_BERT_MARK = 2, CR_BERT_PUNCTUATION = 4 };\n\n'
          'static const uint32_t cr_bert_runs[] = {')
    for i in range(0, len(runs), 10):
        print('    ' + ' '.join('%d,' % run for run in runs[i:i + 10]))
    print('};')


if __name__ == '__main__':
    main()
