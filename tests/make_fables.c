/*
 * make_fables.c - what graphs/train_fables.lua learns from: stories, a tokenizer, ids.
 *
 *     make_fables GRAMMAR stories N SEED             N stories, one a line
 *     make_fables GRAMMAR tokenizer VOCABULARY       tokenizer.json: byte-level BPE of the stories
 *     make_fables GRAMMAR ids VOCABULARY SEED N B T F.npy
 *                                                    N batches of B sequences of T ids, i32 [N, B, T]
 *
 * graphs/fables/grammar.txt says what a grammar is.  The tokenizer is made of TRAINED stories of its
 * own seed.  A sequence begins with the first token of a story, which BEGIN precedes; END follows the
 * last one, and then comes another story, until the sequence is full.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINES = 1024,     /* of a grammar */
    NAMES = 16,       /* that a story keeps */
    STORY = 4096,     /* bytes of a story, or of a line of the grammar */
    DEPTH = 16,       /* of rules within rules */
    WORDS = 4096,     /* distinct words of all stories */
    WORD = 32,        /* bytes of a word */
    VOCABULARY = 512, /* at most */
    BEGIN = 0,
    END = 1,
    BYTES = 2, /* the id of the first of 256 bytes */
    MERGES = BYTES + 256,
    TRAINED = 5000,
    TRAINED_SEED = 1
};

/* A grammar: its lines, each of which is one way to expand its rule. */
static struct line {
    char *rule, *text;
} lines[LINES];
static int n_lines;

/* The values that {a,b = rule} assigned to names in the current story. */
static struct kept {
    char name[32], text[128];
} kept[NAMES];
static int n_kept;

/* A word, as the pattern of the tokenizer splits text, and the tokens that it has been merged to so
 * far. */
static struct word {
    char text[WORD];
    int n, tokens[WORD];
    long count;
} words[WORDS];
static int n_words;

static struct {
    int left, right;
} merges[VOCABULARY];
static int vocabulary = MERGES;

static uint64_t state;

static void die(const char *what, const char *where)
{
    fprintf(stderr, "make_fables: %s: %s\n", what, where);
    exit(2);
}

/* Returns a random number below n, by xorshift64* (Vigna: An experimental exploration of
 * Marsaglia's xorshift generators, scrambled, 2014). */
static int draw(int n)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (int)((state * UINT64_C(2685821657736338717) >> 33) % (uint64_t)n);
}

static void read_grammar(const char *path)
{
    char line[STORY], *rule = NULL;
    FILE *file = fopen(path, "r");
    if (!file)
        die("cannot be read", path);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        size_t length = strlen(line);
        if (!length || *line == '#')
            continue;
        if (*line != ' ') {
            if (line[length - 1] != ':')
                die("found a line that is no rule's name with a colon", line);
            line[length - 1] = '\0';
            rule = strdup(line);
        } else if (!rule || n_lines == LINES) {
            die("found a line without a rule, or too many", line);
        } else {
            lines[n_lines].rule = rule;
            lines[n_lines++].text = strdup(line + strspn(line, " "));
        }
    }
    fclose(file);
}

/* Returns the text of a random line of a rule, or NULL if there is no such rule. */
static const char *draw_line(const char *rule)
{
    int first = 0, n = 0;
    while (first < n_lines && strcmp(lines[first].rule, rule) != 0)
        first++;
    while (first + n < n_lines && !strcmp(lines[first + n].rule, rule))
        n++;
    return n ? lines[first + draw(n)].text : NULL;
}

/* Assigns the parts of a random line of the rule, separated by '|', to names: this expands {a,b =
 * rule}. */
static void keep(char *names, const char *rule)
{
    const char *text = draw_line(rule);
    if (!text)
        die("there is no such rule", rule);
    for (char *name = strtok(names, ", "); name; name = strtok(NULL, ", ")) {
        size_t length = strcspn(text, "|");
        if (n_kept == NAMES || strlen(name) >= sizeof kept->name || length >= sizeof kept->text)
            die("too long or too many to be kept", name);
        snprintf(kept[n_kept].name, sizeof kept->name, "%s", name);
        snprintf(kept[n_kept++].text, sizeof kept->text, "%.*s", (int)length, text);
        text += length + (text[length] == '|');
    }
}

/* Returns the expansion of {name}: the value assigned to the name, or else a random line of the rule. */
static const char *meaning(const char *name)
{
    for (int i = 0; i < n_kept; i++)
        if (!strcmp(kept[i].name, name))
            return kept[i].text;
    const char *text = draw_line(name);
    if (!text)
        die("is neither kept nor a rule", name);
    return text;
}

static void append(char *story, const char *text, size_t length)
{
    size_t end = strlen(story);
    if (end + length >= STORY)
        die("a story is too long", text);
    memcpy(story + end, text, length);
    story[end + length] = '\0';
}

static void expand(char *story, const char *text, int depth);

/* Appends the expansion of a pair of braces with this content. */
static void expand_braces(char *story, char *inside, int depth)
{
    char *rule = strstr(inside, " = ");
    if (rule) {
        *rule = '\0';
        keep(inside, rule + 3);
        return;
    }
    size_t before = strlen(story);
    int capital = isupper((unsigned char)*inside);
    *inside = (char)tolower((unsigned char)*inside);
    expand(story, meaning(inside), depth + 1);
    if (capital)
        story[before] = (char)toupper((unsigned char)story[before]);
}

/* Appends a text of the grammar to a story, with its braces expanded.  The story itself has depth 0. */
static void expand(char *story, const char *text, int depth)
{
    char inside[64];
    if (depth == DEPTH)
        die("rules within rules without end", text);
    for (;;) {
        size_t plain = strcspn(text, "{");
        append(story, text, plain);
        text += plain;
        if (!*text)
            return;
        size_t length = strcspn(++text, "}");
        if (!text[length] || length >= sizeof inside)
            die("a brace without end", text);
        snprintf(inside, sizeof inside, "%.*s", (int)length, text);
        text += length + 1;
        expand_braces(story, inside, depth);
    }
}

static void make_story(char *story)
{
    n_kept = 0;
    *story = '\0';
    expand(story, meaning("story"), 0);
    if (story[strspn(story, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .,!?\"")])
        die("found other characters than letters, spaces and .,!?\"", story);
}

/* Returns the number of bytes of the first word of a text by GPT-2's pattern: at most one space, then
 * letters, or characters that are neither letters nor spaces. */
static int word_length(const char *text)
{
    int n = *text == ' ', letters = isalpha((unsigned char)text[n]) != 0;
    while (text[n] && text[n] != ' ' && (isalpha((unsigned char)text[n]) != 0) == letters)
        n++;
    return n;
}

/* Returns the word with these bytes; adds it, with one token for each byte, if it is new. */
static struct word *find_word(const char *text, int length)
{
    for (int i = 0; i < n_words; i++)
        if (!strncmp(words[i].text, text, (size_t)length) && !words[i].text[length])
            return &words[i];
    if (n_words == WORDS || length >= WORD)
        die("too many words, or too long ones", text);
    struct word *word = &words[n_words++];
    memcpy(word->text, text, (size_t)length);
    word->n = length;
    for (int i = 0; i < length; i++)
        word->tokens[i] = BYTES + (unsigned char)text[i];
    return word;
}

/* Replaces a pair of tokens in a word by their merge. */
static void merge_in(struct word *word, int left, int right, int merged)
{
    int n = 0;
    for (int i = 0; i < word->n; i++) {
        int both = i + 1 < word->n && word->tokens[i] == left && word->tokens[i + 1] == right;
        word->tokens[n++] = both ? merged : word->tokens[i];
        i += both;
    }
    word->n = n;
}

/* Merges the pair that occurs most often in all words, the first of several.  Returns false if there
 * is no pair. */
static int merge_once(void)
{
    static long counts[VOCABULARY][VOCABULARY];
    int left = 0, right = 0;
    memset(counts, 0, sizeof counts);
    for (int w = 0; w < n_words; w++)
        for (int i = 0; i + 1 < words[w].n; i++)
            counts[words[w].tokens[i]][words[w].tokens[i + 1]] += words[w].count;
    for (int a = 0; a < vocabulary; a++)
        for (int b = 0; b < vocabulary; b++)
            if (counts[a][b] > counts[left][right])
                left = a, right = b;
    if (!counts[left][right])
        return 0;
    merges[vocabulary].left = left;
    merges[vocabulary].right = right;
    for (int w = 0; w < n_words; w++)
        merge_in(&words[w], left, right, vocabulary);
    vocabulary++;
    return 1;
}

/* Trains byte pair encoding (Sennrich, Haddow, Birch: Neural Machine Translation of Rare Words with
 * Subword Units, 2016) on the words of TRAINED stories. */
static void train_tokenizer(int size)
{
    char story[STORY];
    state = TRAINED_SEED;
    for (int i = 0; i < TRAINED; i++) {
        make_story(story);
        for (char *at = story; *at; at += word_length(at))
            find_word(at, word_length(at))->count++;
    }
    while (vocabulary < size && merge_once())
        ;
    if (vocabulary < size)
        die("the stories have too few words for this vocabulary", "");
}

/* Prints the character that represents a byte in the files of byte-level BPE, as JSON: a visible
 * byte itself, else a character from U+0100 on. */
static void print_byte(int byte)
{
    int other = 0;
    for (int b = 0; b < byte; b++)
        other += b < 33 || (b > 126 && b < 161) || b == 173;
    if (byte == '"' || byte == '\\')
        printf("\\%c", byte);
    else if (byte >= 33 && byte <= 126)
        putchar(byte);
    else
        printf("\\u%04x", byte < 33 || byte < 161 || byte == 173 ? 256 + other : byte);
}

static void print_token(int token)
{
    if (token < MERGES) {
        print_byte(token - BYTES);
        return;
    }
    print_token(merges[token].left);
    print_token(merges[token].right);
}

/* tokenizer.json before its vocabulary, as Hugging Face's library writes it. */
static const char head[] =
    "{\n"
    "\"version\": \"1.0\",\n"
    "\"truncation\": null,\n"
    "\"padding\": null,\n"
    "\"added_tokens\": [\n"
    "{\"id\": 0, \"content\": \"<s>\", \"single_word\": false, \"lstrip\": false,"
    " \"rstrip\": false, \"normalized\": false, \"special\": true},\n"
    "{\"id\": 1, \"content\": \"</s>\", \"single_word\": false, \"lstrip\": false,"
    " \"rstrip\": false, \"normalized\": false, \"special\": true}],\n"
    "\"normalizer\": null,\n"
    "\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false,"
    " \"trim_offsets\": true, \"use_regex\": true},\n"
    "\"post_processor\": {\"type\": \"TemplateProcessing\",\n"
    "\"single\": [{\"SpecialToken\": {\"id\": \"<s>\", \"type_id\": 0}},"
    " {\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}],\n"
    "\"pair\": [{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}},"
    " {\"Sequence\": {\"id\": \"B\", \"type_id\": 1}}],\n"
    "\"special_tokens\": {\"<s>\": {\"id\": \"<s>\", \"ids\": [0], \"tokens\": [\"<s>\"]}}},\n"
    "\"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true, \"trim_offsets\": true,"
    " \"use_regex\": true},\n"
    "\"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": null,"
    " \"continuing_subword_prefix\": null, \"end_of_word_suffix\": null, \"fuse_unk\": false,"
    " \"byte_fallback\": false, \"ignore_merges\": false,\n"
    "\"vocab\": {\n"
    "\"<s>\": 0,\n"
    "\"</s>\": 1,\n";

static void print_tokenizer(void)
{
    fputs(head, stdout);
    for (int token = BYTES; token < vocabulary; token++) {
        putchar('"');
        print_token(token);
        printf("\": %d%s\n", token, token + 1 < vocabulary ? "," : "},\n\"merges\": [");
    }
    for (int token = MERGES; token < vocabulary; token++) {
        putchar('"');
        print_token(merges[token].left);
        putchar(' ');
        print_token(merges[token].right);
        puts(token + 1 < vocabulary ? "\"," : "\"]}\n}");
    }
}

/* Encodes a story, between BEGIN and END; returns the number of tokens. */
static int story_ids(int32_t *ids)
{
    char story[STORY];
    int n = 0;
    make_story(story);
    ids[n++] = BEGIN;
    for (char *at = story; *at; at += word_length(at)) {
        int known = n_words;
        const struct word *word = find_word(at, word_length(at));
        if (n_words > known)
            die("a word that the tokenizer has not seen", word->text);
        for (int i = 0; i < word->n; i++)
            ids[n++] = word->tokens[i];
    }
    ids[n++] = END;
    return n;
}

static void write_ids(const char *path, long batches, int rows, int length)
{
    static int32_t ids[STORY + 2];
    char header[128];
    FILE *file = fopen(path, "wb");
    if (!file)
        die("cannot be written", path);
    int n = snprintf(header, sizeof header,
                     "{'descr': '<i4', 'fortran_order': False, 'shape': (%ld, %d, %d), }", batches,
                     rows, length);
    memset(header + n, ' ', sizeof header - (size_t)n);
    header[117] = '\n';
    fwrite("\x93NUMPY\x01\0\x76\0", 1, 10, file);
    fwrite(header, 1, 118, file);
    for (long row = 0; row < batches * rows; row++)
        for (int left = length; left > 0;) {
            int made = story_ids(ids), taken = made < left ? made : left;
            fwrite(ids, sizeof *ids, (size_t)taken, file);
            left -= taken;
        }
    if (ferror(file) | fclose(file))
        die("cannot be written", path);
}

static void print_stories(long n)
{
    char story[STORY];
    for (; n > 0; n--) {
        make_story(story);
        puts(story);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "";
    int stories = !strcmp(what, "stories") && argc == 5, ids = !strcmp(what, "ids") && argc == 9;
    if (!stories && !ids && (strcmp(what, "tokenizer") != 0 || argc != 4))
        die("found other arguments", "expected those that the source begins with");
    read_grammar(argv[1]);
    if (stories) {
        state = 1 + strtoull(argv[4], NULL, 10);
        print_stories(atol(argv[3]));
        return 0;
    }
    int size = atoi(argv[3]);
    if (size < MERGES || size > VOCABULARY)
        die("expected a vocabulary of 258 to 512 tokens", argv[3]);
    train_tokenizer(size);
    if (ids) {
        state = 1 + strtoull(argv[4], NULL, 10);
        write_ids(argv[8], atol(argv[5]), atoi(argv[6]), atoi(argv[7]));
    } else {
        print_tokenizer();
    }
    return 0;
}
