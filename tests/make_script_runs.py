#!/usr/bin/env python3
"""Writes compiler/tokenizer/script_runs.inc: the scripts of characters by which Hugging Face's tokenizers
library cuts text (UnicodeScripts).

    pip install tokenizers
    python3 tests/make_script_runs.py >compiler/tokenizer/script_runs.inc
"""
from tokenizers import pre_tokenizers

cut = pre_tokenizers.UnicodeScripts()


def together(a, b):
    return len(cut.pre_tokenize_str(a + b)) == 1


def main():
    scripts, runs, last = [], [], None
    for code in range(0x110000):
        if 0xd800 <= code < 0xe000:
            script = 0
        else:
            character = chr(code)
            if together('a', character) and together('\u03b1', character):
                script = 0
            elif last and together(scripts[last - 1], character):
                script = last
            else:
                script = next((i for i, s in enumerate(scripts, 1) if together(s, character)), 0)
                if not script:
                    scripts.append(character)
                    script = len(scripts)
        if script != last:
            runs.append(code * 256 + script)
            last = script
    assert len(scripts) < 256
    print('/*\n * script_runs.inc - where runs of characters of one script begin: 256 times the first character, plus\n'
          ' * the number of the script, 0 for none.  Chinese and both kinds of Japanese letters are one script.\n'
          ' *\n * Written by tests/make_script_runs.py.\n */\n\n'
          'static const uint32_t cr_script_runs[] = {')
    for i in range(0, len(runs), 8):
        print('    ' + ' '.join('0x%x,' % run for run in runs[i:i + 8]))
    print('};')


if __name__ == '__main__':
    main()
