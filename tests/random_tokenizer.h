/*
 * random_tokenizer.h - draws a tokenizer.json of random parts, and texts that contain its tokens.
 *
 * put_random_tokenizer() appends the JSON; put_random_text() appends a text of UTF-8.  Both follow random_state.
 */
#ifndef RANDOM_TOKENIZER_H
#define RANDOM_TOKENIZER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "compiler/ir/text.h"

static uint64_t random_state;

static uint32_t pick(uint32_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 33) % below;
}

/* True once in n calls, on average. */
static bool once_in(uint32_t n) { return pick(n) == 0; }

#define PICK(list) ((list)[pick(sizeof(list) / sizeof *(list))])

/* The characters and words of texts and vocabularies: white space, accents, marks, CJK, Hangul, emoji, letters whose
 * lower case or normal form has another length, and texts that look like tokens. */
static const char *const pieces[] = {
    "a", "b", "c", "d", "e", "A", "B", "E", "1", "2", "12", ".", ",", "-", "_", "'", "'s", "!", "?", "x", "ab", "abc", "ABC", "the",
    "The", "ing", "er", "s", "é", "É", "e\xcc\x81", "\xcc\x81", "ﬁ", "½", "ß", "İ", "Σ", "ς", "你", "好", "你好", "日本", "ア", "ガ",
    "カ\xe3\x82\x99", "가", "각", "ㄱ", "\xe1\x84\x80", "\xe1\x85\xa1", "▁", "▁▁", "▁a", "▁the", "а", "Ж", "ש", "न", "ไ", "👍", "👍🏽",
    "🇩🇪", "①", "Å", "\xe2\x84\xab", "。", "、", "€", "$", "+", "##a", "@@", "</w>", "key", "keyword", "don't", "é1", "<0x41>",
    "\xcd\x84", "\xcd\x85", "ǅ", "々", "ー"};
static const char *const spaces[] = {" ", " ", " ", "  ", "\t", "\n", "\r\n", "\n\n", "\xc2\xa0", "\xe3\x80\x80", "\xe2\x80\x83",
                                     "\xe2\x80\x8b", "\xc2\x85", "\xe2\x80\xa8", "\xef\xbb\xbf", "\xe2\x80\x8d"};
static const char *const added_texts[] = {"key", "ab", "new tok", "é", "É", "  ", "[X]", "a", "你好", "_", "▁x", "ABC", "abc", "ﬁ",
                                          " lead", "trail ", "don't", "1", ".", "new"};
static const char *const specials[] = {"<s>", "</s>", "<pad>", "[MASK]", "[UNK]"};
enum { N_PIECES = sizeof pieces / sizeof *pieces, N_SPECIALS = 5, N_ADDED = sizeof added_texts / sizeof *added_texts };

/* ---- texts ---- */

/* Appends an assigned character from anywhere in Unicode's first planes. */
static void put_any_character(struct cr_text *t)
{
    uint32_t c = once_in(2) ? 0x20 + pick(0x2e0) : once_in(2) ? 0x4e00 + pick(0x5000) : 0x370 + pick(0x1c00);
    if (c < 0x80)
        cr_put(t, "%c", (int)c);
    else if (c < 0x800)
        cr_put(t, "%c%c", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 0x3f)));
    else
        cr_put(t, "%c%c%c", (int)(0xe0 | c >> 12), (int)(0x80 | (c >> 6 & 0x3f)), (int)(0x80 | (c & 0x3f)));
}

static void put_random_text(struct cr_text *t)
{
    static const uint32_t lengths[] = {1, 2, 3, 6, 12, 30};
    for (uint32_t n = pick(PICK(lengths) + 1); n > 0; n--) {
        uint32_t kind = pick(20);
        if (kind < 5)
            cr_put(t, "%s", PICK(spaces));
        else if (kind < 7)
            cr_put(t, "%s", once_in(2) ? PICK(added_texts) : PICK(specials));
        else if (kind < 18)
            cr_put(t, "%s", PICK(pieces));
        else if (kind < 19)
            put_any_character(t);
        else
            cr_put_bytes(t, &"\0\x01\x7f"[pick(3)], 1);
    }
}

/* ---- parts ---- */

static const char *truth(void) { return once_in(2) ? "true" : "false"; }

/* Appends a string of JSON. */
static void put_json_string(struct cr_text *t, const char *text)
{
    cr_put(t, "\"");
    for (; *text; text++)
        cr_put(t, *text == '"' || *text == '\\' ? "\\%c" : *text < ' ' && *text >= 0 ? "\\u%04x" : "%c", *text);
    cr_put(t, "\"");
}

static void put_pattern(struct cr_text *t)
{
    static const char *const texts[] = {" ", "▁", "a", "ab", "  ", ".", "\xcc\x81", "你"};
    static const char *const regexes[] = {
        "\\s+", "\\w+|[^\\w\\s]+", "\\d", "\\p{L}+", " ?\\p{L}+| ?\\p{N}+|\\s+", "[aeiou]", "(?<=a)b", "a(?=b)", "\\s+(?!\\S)",
        "[^\\s]+", "(?i)ab", "\\p{N}{1,3}", ".", "(?:ab)+", "[.,!?]", "\\p{P}|\\p{S}", "\\p{Han}", " {2,}", "\\n+"};
    const bool is_text = once_in(3);
    cr_put(t, "{\"%s\":", is_text ? "String" : "Regex");
    put_json_string(t, is_text ? PICK(texts) : PICK(regexes));
    cr_put(t, "}");
}

/* Appends the character map of a fixture, as SentencePiece precompiles it. */
static void put_precompiled(struct cr_text *t)
{
    json_error_t why;
    json_t *file = json_load_file("tests/tokenizers/unigram_map.json", 0, &why);
    json_t *normalizer = json_object_get(file, "normalizer"), *list = json_object_get(normalizer, "normalizers");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_object_get(json_array_get(list, i), "precompiled_charsmap"))
            normalizer = json_array_get(list, i);
    const char *map = json_string_value(json_object_get(normalizer, "precompiled_charsmap"));
    cr_put(t, "{\"type\":\"%s\"", map ? "Precompiled" : "NFKC");
    if (map)
        cr_put(t, ",\"precompiled_charsmap\":\"%s\"", map);
    cr_put(t, "}");
    json_decref(file);
}

typedef void put_part(struct cr_text *t);

/* Appends a part that is a sequence of up to three others. */
static void put_sequence(struct cr_text *t, const char *list, uint32_t least, put_part *put)
{
    cr_put(t, "{\"type\":\"Sequence\",\"%s\":[", list);
    for (uint32_t i = 0, n = least + pick(4 - least); i < n; i++) {
        cr_put(t, i ? "," : "");
        put(t);
    }
    cr_put(t, "]}");
}

static void put_normalizer(struct cr_text *t)
{
    static const char *const plain[] = {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel"};
    static const char *const contents[] = {"", " ", "▁", "x", "ab", "  "}, *const prepended[] = {"▁", " ", "ab"};
    static const char *const accents[] = {"null", "true", "false"};
    switch (pick(8)) {
    case 0:
        cr_put(t, "{\"type\":\"Strip\",\"strip_left\":%s,\"strip_right\":%s}", truth(), truth());
        return;
    case 1:
        cr_put(t, "{\"type\":\"Replace\",\"pattern\":");
        put_pattern(t);
        cr_put(t, ",\"content\":\"%s\"}", PICK(contents));
        return;
    case 2:
        cr_put(t, "{\"type\":\"Prepend\",\"prepend\":\"%s\"}", PICK(prepended));
        return;
    case 3:
        cr_put(t, "{\"type\":\"BertNormalizer\",\"clean_text\":%s,\"handle_chinese_chars\":%s,\"strip_accents\":%s,\"lowercase\":%s}",
               truth(), truth(), PICK(accents), truth());
        return;
    case 4:
        put_precompiled(t);
        return;
    default:
        cr_put(t, "{\"type\":\"%s\"}", PICK(plain));
    }
}

static void put_metaspace(struct cr_text *t)
{
    static const char *const schemes[] = {"always", "first", "never"};
    cr_put(t, "{\"type\":\"Metaspace\",\"replacement\":\"%s\",\"prepend_scheme\":\"%s\",\"split\":%s}", once_in(4) ? "_" : "▁",
           PICK(schemes), truth());
}

static void put_byte_level(struct cr_text *t)
{
    cr_put(t, "{\"type\":\"ByteLevel\",\"add_prefix_space\":%s,\"trim_offsets\":%s,\"use_regex\":%s}", truth(), truth(), truth());
}

static void put_pre_tokenizer(struct cr_text *t)
{
    static const char *const plain[] = {"Whitespace", "WhitespaceSplit", "BertPreTokenizer", "UnicodeScripts"};
    static const char *const behaviors[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
    static const char *const delimiters[] = {" ", "a", "▁", ","};
    switch (pick(8)) {
    case 0:
        put_byte_level(t);
        return;
    case 1:
    case 2:
        cr_put(t, "{\"type\":\"Split\",\"pattern\":");
        put_pattern(t);
        cr_put(t, ",\"behavior\":\"%s\",\"invert\":%s}", PICK(behaviors), truth());
        return;
    case 3:
        put_metaspace(t);
        return;
    case 4:
        cr_put(t, "{\"type\":\"Digits\",\"individual_digits\":%s}", truth());
        return;
    case 5:
        cr_put(t, "{\"type\":\"Punctuation\",\"behavior\":\"%s\"}", PICK(behaviors));
        return;
    case 6:
        cr_put(t, "{\"type\":\"CharDelimiterSplit\",\"delimiter\":\"%s\"}", PICK(delimiters));
        return;
    default:
        cr_put(t, "{\"type\":\"%s\"}", PICK(plain));
    }
}

static void put_decoder(struct cr_text *t)
{
    static const char *const replaced[] = {"▁", "a", "ab"}, *const contents[] = {" ", "", "x"}, *const stripped[] = {" ", "▁", "a"};
    switch (pick(6)) {
    case 0:
        put_byte_level(t);
        return;
    case 1:
        put_metaspace(t);
        return;
    case 2:
        cr_put(t, "{\"type\":\"Replace\",\"pattern\":{\"String\":\"%s\"},\"content\":\"%s\"}", PICK(replaced), PICK(contents));
        return;
    case 3:
        cr_put(t, "{\"type\":\"Strip\",\"content\":\"%s\",\"start\":%u,\"stop\":%u}", PICK(stripped), pick(3), pick(3));
        return;
    default:
        cr_put(t, "{\"type\":\"%s\"}", once_in(2) ? "ByteFallback" : "Fuse");
    }
}

/* Appends a member: null once in `absent` calls, a part, or a sequence of parts. */
static void put_stage(struct cr_text *t, const char *name, uint32_t absent, const char *list, uint32_t least, put_part *put)
{
    cr_put(t, ",\"%s\":", name);
    if (once_in(absent))
        cr_put(t, "null");
    else if (once_in(2))
        put(t);
    else
        put_sequence(t, list, least, put);
}

/* ---- vocabularies ---- */

enum { MOST_WORDS = 700, WORD_BYTES = 40 };

struct words {
    char texts[MOST_WORDS][WORD_BYTES];
    int n;
};

static int find_piece(const struct words *w, const char *text)
{
    for (int i = 0; i < w->n; i++)
        if (strcmp(w->texts[i], text) == 0)
            return i;
    return -1;
}

/* Adds a word unless it is there; returns its number, or -1 if there is no room. */
static int add_piece(struct words *w, const char *text)
{
    int found = find_piece(w, text);
    if (found >= 0 || w->n == MOST_WORDS || strlen(text) >= WORD_BYTES)
        return found;
    snprintf(w->texts[w->n], WORD_BYTES, "%s", text);
    return w->n++;
}

/* Adds a word of up to three pieces, behind a prefix. */
static void add_random_word(struct words *w, const char *prefix)
{
    char text[WORD_BYTES];
    int length = snprintf(text, sizeof text, "%s", prefix);
    for (uint32_t n = 1 + pick(3); n > 0 && length < 24; n--)
        length += snprintf(text + length, sizeof text - (size_t)length, "%s", PICK(pieces));
    add_piece(w, text);
}

/* Adds <0x00> to <0xFF>; sometimes some of them are missing. */
static void add_bytes(struct words *w)
{
    char text[12];
    const int n = once_in(5) ? 128 : 256;
    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof text, "<0x%02X>", (unsigned)i & 255);
        add_piece(w, text);
    }
}

/* Adds the letters that ByteLevel writes bytes as. */
static void add_byte_letters(struct words *w)
{
    for (int i = 0, other = 256; i < 256; i++) {
        const bool own = (i >= 33 && i < 127) || (i >= 161 && i < 173) || i >= 174;
        const int c = own ? i : other++;
        const char text[] = {(char)(c < 0x80 ? c : 0xc0 | c >> 6), (char)(c < 0x80 ? 0 : 0x80 | (c & 0x3f)), 0};
        add_piece(w, text);
    }
}

static void put_vocabulary(struct cr_text *t, const struct words *w)
{
    cr_put(t, "\"vocab\":{");
    for (int i = 0; i < w->n; i++) {
        cr_put(t, i ? "," : "");
        put_json_string(t, w->texts[i]);
        cr_put(t, ":%d", i);
    }
    cr_put(t, "}");
}

static void put_merges(struct cr_text *t, struct words *w)
{
    char joined[2 * WORD_BYTES], seen[300][2 * WORD_BYTES];
    int n = 0;
    cr_put(t, "\"merges\":[");
    for (uint32_t tries = pick(300); tries > 0; tries--) {
        const char *left = w->texts[pick((uint32_t)w->n)], *right = w->texts[pick((uint32_t)w->n)];
        bool is_new = strchr(left, '<') == NULL && strchr(right, '<') == NULL && left[0] != '[' && right[0] != '[';
        snprintf(joined, sizeof joined, "%s %s", left, right);
        for (int i = 0; i < n; i++)
            is_new &= strcmp(seen[i], joined) != 0;
        if (!is_new)
            continue;
        snprintf(seen[n], sizeof *seen, "%s", joined);
        snprintf(joined, sizeof joined, "%s%s", left, right);
        if (strlen(joined) > 30 || add_piece(w, joined) < 0)
            continue;
        cr_put(t, n++ ? ",[" : "[");
        put_json_string(t, left);
        cr_put(t, ",");
        put_json_string(t, right);
        cr_put(t, "]");
    }
    cr_put(t, "],");
}

/* ---- models ---- */

static void put_bpe(struct cr_text *t, struct words *w)
{
    const bool fallback = once_in(3);
    if (fallback)
        add_bytes(w);
    if (once_in(2))
        add_byte_letters(w);
    for (int i = 0; i < N_PIECES; i++)
        if (!once_in(5))
            add_piece(w, pieces[i]);
    cr_put(t, "{\"type\":\"BPE\",\"unk_token\":%s,\"fuse_unk\":%s,\"byte_fallback\":%s,\"ignore_merges\":%s,",
           once_in(3) ? "null" : "\"[UNK]\"", truth(), fallback ? "true" : "false", once_in(4) ? "true" : "false");
    put_merges(t, w);
    put_vocabulary(t, w);
    cr_put(t, "}");
}

static void put_word_model(struct cr_text *t, struct words *w)
{
    static const int longest[] = {100, 5, 10};
    const bool parts = once_in(2);
    for (uint32_t n = 20 + pick(300); n > 0; n--)
        add_random_word(w, parts && once_in(2) ? "##" : "");
    cr_put(t, parts ? "{\"type\":\"WordPiece\",\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":%d,"
                    : "{\"type\":\"WordLevel\",", PICK(longest));
    cr_put(t, "\"unk_token\":\"[UNK]\",");
    put_vocabulary(t, w);
    cr_put(t, "}");
}

static void put_unigram(struct cr_text *t, struct words *w)
{
    const bool fallback = once_in(3);
    if (fallback)
        add_bytes(w);
    for (uint32_t n = 20 + pick(300); n > 0; n--)
        add_random_word(w, "");
    cr_put(t, "{\"type\":\"Unigram\",\"unk_id\":%d,\"byte_fallback\":%s,\"vocab\":[", find_piece(w, "[UNK]"),
           fallback ? "true" : "false");
    for (int i = 0; i < w->n; i++) {
        cr_put(t, i ? ",[" : "[");
        put_json_string(t, w->texts[i]);
        cr_put(t, ",-%u.%u]", pick(13), pick(once_in(2) ? 4 : 1000));
    }
    cr_put(t, "]}");
}

/* ---- the tokenizer ---- */

/* Appends an item of a template: a special token, or the text A or B. */
static void put_item(struct cr_text *t, char item)
{
    const bool is_text = item == 'A' || item == 'B';
    const char name[] = {item, 0};
    cr_put(t, "{\"%s\":{\"id\":\"%s\",\"type_id\":%u}}", is_text ? "Sequence" : "SpecialToken",
           is_text ? name : item == 's' ? "<s>" : "</s>", pick(2));
}

static void put_items(struct cr_text *t, const char *name, const char *items)
{
    cr_put(t, ",\"%s\":[", name);
    for (const char *item = items; *item; item++) {
        cr_put(t, item > items ? "," : "");
        put_item(t, *item);
    }
    cr_put(t, "]");
}

static void put_template(struct cr_text *t)
{
    static const char *const singles[] = {"sAe", "Ae", "A", "sA"}, *const pairs[] = {"sAeBe", "sAeeBe", "AB", "sBeA"};
    cr_put(t, "{\"type\":\"TemplateProcessing\"");
    put_items(t, "single", PICK(singles));
    put_items(t, "pair", PICK(pairs));
    cr_put(t, ",\"special_tokens\":{\"<s>\":{\"id\":\"<s>\",\"ids\":[0],\"tokens\":[\"<s>\"]},"
              "\"</s>\":{\"id\":\"</s>\",\"ids\":[1],\"tokens\":[\"</s>\"]}}}");
}

static void put_post_processor(struct cr_text *t)
{
    static const char *const kinds[] = {"Bert", "Roberta"};
    cr_put(t, ",\"post_processor\":");
    switch (pick(5)) {
    case 0:
        cr_put(t, "null");
        return;
    case 1:
        cr_put(t, "{\"type\":\"%sProcessing\",\"sep\":[\"</s>\",1],\"cls\":[\"<s>\",0],\"trim_offsets\":true,\"add_prefix_space\":%s}",
               PICK(kinds), truth());
        return;
    case 2:
        put_sequence(t, "processors", 1, put_byte_level);
        return;
    default:
        put_template(t);
    }
}

/* Appends the added tokens: the special ones, and some texts, in or behind the vocabulary. */
static void put_added(struct cr_text *t, const struct words *w)
{
    int next = w->n;
    cr_put(t, ",\"added_tokens\":[");
    for (int i = 0; i < N_SPECIALS + N_ADDED; i++) {
        const bool special = i < N_SPECIALS;
        const char *text = special ? specials[i] : added_texts[i - N_SPECIALS];
        if (!special && !once_in(5))
            continue;
        int id = find_piece(w, text);
        cr_put(t, "%s{\"id\":%d,\"content\":", i ? "," : "", id >= 0 ? id : next++);
        put_json_string(t, text);
        cr_put(t, ",\"single_word\":%s,\"lstrip\":%s,\"rstrip\":%s,\"normalized\":%s,\"special\":%s}",
               once_in(special ? 10 : 3) ? "true" : "false", once_in(4) ? "true" : "false", once_in(4) ? "true" : "false",
               !special && once_in(2) ? "true" : "false", special || once_in(3) ? "true" : "false");
    }
    cr_put(t, "]");
}

static void put_truncation(struct cr_text *t)
{
    static const char *const strategies[] = {"LongestFirst", "OnlyFirst", "OnlySecond"}, *const directions[] = {"Left", "Right"};
    if (!once_in(3))
        cr_put(t, ",\"truncation\":{\"direction\":\"%s\",\"max_length\":%u,\"strategy\":\"%s\",\"stride\":0}", PICK(directions),
               8 + pick(40), PICK(strategies));
}

static void put_random_tokenizer(struct cr_text *t)
{
    static struct words w;
    struct cr_text model = {0};
    w.n = 0;
    for (int i = 0; i < N_SPECIALS; i++)
        add_piece(&w, specials[i]);
    (once_in(3) ? put_bpe : once_in(2) ? put_word_model : put_unigram)(&model, &w);
    cr_put(t, "{\"version\":\"1.0\",\"model\":%s", model.data);
    put_added(t, &w);
    put_stage(t, "normalizer", 3, "normalizers", 0, put_normalizer);
    put_stage(t, "pre_tokenizer", 5, "pretokenizers", 0, put_pre_tokenizer);
    put_stage(t, "decoder", 6, "decoders", 1, put_decoder);
    put_post_processor(t);
    put_truncation(t);
    cr_put(t, "}");
    free(model.data);
}

#endif
