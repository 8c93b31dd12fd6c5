#include "runtime_text.h"

#include <stdio.h>
#include <string.h>

#include "compiler/ir/unwind.h"

#define FILES(F)                                                                                   \
    F(elementwise, "runtime/elementwise.h")                                                        \
    F(reductions, "runtime/reductions.h")                                                          \
    F(types, "runtime/types.h")                                                                    \
    F(runtime, "runtime/runtime.h")                                                                \
    F(i32_h, "runtime/i32.h")                                                                      \
    F(i32, "runtime/i32.inc")                                                                      \
    F(api, "runtime/api.h")                                                                        \
    F(select_runtime, "runtime/select_runtime.h")                                                  \
    F(pool_h, "runtime/pool.h")                                                                    \
    F(pack_weights_h, "runtime/pack_weights.h")                                                    \
    F(philox, "runtime/philox.h")                                                                  \
    F(philox_inc, "runtime/philox.inc")                                                            \
    F(words, "runtime/words.inc")                                                                  \
    F(random, "runtime/random.inc")                                                                \
    F(runtime_c, "runtime/runtime.c")                                                              \
    F(runtime_inc, "runtime/runtime.inc")                                                          \
    F(math, "runtime/math.inc")                                                                    \
    F(rounding, "runtime/rounding.inc")                                                            \
    F(angle_reduction, "runtime/angle_reduction.h")                                                \
    F(trig, "runtime/trig.inc")                                                                    \
    F(power, "runtime/power.inc")                                                                  \
    F(remainder, "runtime/remainder.inc")                                                          \
    F(divide_h, "runtime/divide.h")                                                                \
    F(divide, "runtime/divide.inc")                                                                \
    F(elementwise_inc, "runtime/elementwise.inc")                                                  \
    F(combined, "runtime/combined.inc")                                                            \
    F(reductions_inc, "runtime/reductions.inc")                                                    \
    F(reductions_loose, "runtime/reductions_loose.inc")                                            \
    F(reductions_down, "runtime/reductions_down.inc")                                              \
    F(query_attention, "runtime/query_attention.inc")                                              \
    F(hide, "runtime/hide.inc")                                                                    \
    F(extremes, "runtime/extremes.inc")                                                            \
    F(gather_panels, "runtime/gather_panels.inc")                                                  \
    F(lookup, "runtime/lookup.inc")                                                                \
    F(scan, "runtime/scan.inc")                                                                    \
    F(i32_scan, "runtime/i32_scan.inc")                                                            \
    F(i32_lookup, "runtime/i32_lookup.inc")                                                        \
    F(scatter, "runtime/scatter.inc")                                                              \
    F(scatter_tile, "runtime/scatter_tile.inc")                                                    \
    F(move, "runtime/move.inc")                                                                    \
    F(gemm, "runtime/gemm.inc")                                                                    \
    F(bf16_product_h, "runtime/bf16_product.h")                                                    \
    F(f16_number, "runtime/f16_number.inc")                                                        \
    F(blocks, "runtime/blocks.inc")                                                                \
    F(q8, "runtime/q8.inc")                                                                        \
    F(q4, "runtime/q4.inc")                                                                        \
    F(int8, "runtime/int8.inc")                                                                    \
    F(int8_products, "runtime/int8_products.inc")                                                  \
    F(int8_sdot, "runtime/int8_sdot.inc")                                                          \
    F(int8_amx, "runtime/int8_amx.inc")                                                            \
    F(softmax, "runtime/softmax.inc")                                                              \
    F(intrinsics, "runtime/intrinsics_avx2.h")                                                     \
    F(vector, "runtime/vector.h")                                                                  \
    F(plain, "runtime/vector_plain.h")                                                             \
    F(avx2, "runtime/vector_avx2.h")                                                               \
    F(avx512, "runtime/vector_avx512.h")                                                           \
    F(neon, "runtime/vector_neon.h")                                                               \
    F(end, "runtime/vector_end.h")                                                                 \
    F(pool, "runtime/pool.c")                                                                      \
    F(pack_weights, "runtime/pack_weights.c")                                                      \
    F(pack_pieces_h, "runtime/pack_pieces.h")                                                      \
    F(pack_pieces, "runtime/pack_pieces.c")                                                        \
    F(sampler_h, "runtime/sampler.h")                                                              \
    F(sampler, "runtime/sampler.c")                                                                \
    F(linkage, "compiler/files/linkage.h")                                                         \
    F(mapping_h, "compiler/files/mapping.h")                                                       \
    F(mapping, "compiler/files/mapping.c")                                                         \
    F(utf8, "compiler/files/utf8.h")                                                               \
    F(utf8_put, "compiler/files/utf8_put.h")                                                       \
    F(json_h, "compiler/files/json.h")                                                             \
    F(json, "compiler/files/json.c")                                                               \
    F(numbers_h, "compiler/files/numbers.h")                                                       \
    F(numbers, "compiler/files/numbers.c")                                                         \
    F(npy_h, "compiler/files/npy_read.h")                                                          \
    F(npy, "compiler/files/npy_read.c")                                                            \
    F(safetensors_h, "compiler/files/safetensors_read.h")                                          \
    F(safetensors, "compiler/files/safetensors_read.c")                                            \
    F(write, "compiler/files/write.inc")                                                           \
    F(write_unnamed, "compiler/files/write_unnamed.inc")                                           \
    F(main, "compiler/emit/standalone_main.inc")                                                   \
    F(classes, "compiler/tokenizer/classes.inc")                                                   \
    F(leading, "compiler/tokenizer/leading.inc")                                                   \
    F(leading_characters, "compiler/tokenizer/leading_characters.inc")                             \
    F(characters, "compiler/tokenizer/characters.inc")                                             \
    F(class_runs, "compiler/tokenizer/class_runs.inc")                                             \
    F(class_of, "compiler/tokenizer/class_of.inc")                                                 \
    F(scan_shared, "compiler/tokenizer/scan_shared.inc")                                           \
    F(scan_gpt2, "compiler/tokenizer/scan_gpt2.inc")                                               \
    F(scan_llama3, "compiler/tokenizer/scan_llama3.inc")                                           \
    F(lookup_tables, "compiler/tokenizer/lookup_tables.h")                                         \
    F(step_back, "compiler/tokenizer/step_back.inc")                                               \
    F(trie, "compiler/tokenizer/trie.inc")                                                         \
    F(added_tokens, "compiler/tokenizer/added_tokens.inc")                                         \
    F(merge, "compiler/tokenizer/merge.inc")                                                       \
    F(symbols, "compiler/tokenizer/symbols.inc")                                                   \
    F(piece_hash, "compiler/tokenizer/piece_hash.inc")                                             \
    F(compositions, "compiler/tokenizer/compositions.inc")                                         \
    F(normal_forms, "compiler/tokenizer/normal_forms.inc")                                         \
    F(visible_space, "compiler/tokenizer/visible_space.inc")                                       \
    F(text_state, "compiler/tokenizer/text_state.h")                                               \
    F(hidden_tokens, "compiler/tokenizer/hidden_tokens.inc")                                       \
    F(stripping, "compiler/tokenizer/stripping.inc")                                               \
    F(bert_classes, "compiler/tokenizer/bert_classes.inc")                                         \
    F(bert_class_of, "compiler/tokenizer/bert_class_of.inc")                                       \
    F(compatible, "compiler/tokenizer/compatible.inc")                                             \
    F(lower_case, "compiler/tokenizer/lower_case.inc")                                             \
    F(graphemes, "compiler/tokenizer/graphemes.inc")                                               \
    F(graphemes_of, "compiler/tokenizer/graphemes_of.inc")                                         \
    F(text_map, "compiler/tokenizer/text_map.inc")                                                 \
    F(precompiled, "compiler/tokenizer/precompiled.inc")                                           \
    F(sentencepiece, "compiler/tokenizer/sentencepiece.inc")                                       \
    F(script_runs, "compiler/tokenizer/script_runs.inc")                                           \
    F(stage, "compiler/tokenizer/stage.h")                                                         \
    F(cutter, "compiler/tokenizer/cutter.h")                                                       \
    F(text_stages, "compiler/tokenizer/text_stages.inc")                                           \
    F(cut_characters, "compiler/tokenizer/cut_characters.inc")                                     \
    F(run_pattern, "compiler/tokenizer/run_pattern.inc")                                           \
    F(word_table, "compiler/tokenizer/word_table.inc")                                             \
    F(wordpiece, "compiler/tokenizer/wordpiece.inc")                                               \
    F(unigram, "compiler/tokenizer/unigram.inc")                                                   \
    F(truncation, "compiler/tokenizer/truncation.inc")                                             \
    F(stages, "compiler/emit/standalone_stages.inc")                                               \
    F(texts, "compiler/emit/standalone_texts.h")                                                   \
    F(tokenizer, "compiler/emit/standalone_tokenizer.inc")                                         \
    F(main_tools, "compiler/emit/standalone_main_tools.inc")                                       \
    F(main_files, "compiler/emit/standalone_main_files.inc")                                       \
    F(main_pieces, "compiler/emit/standalone_pieces.inc")                                          \
    F(samples, "compiler/files/samples.h")                                                         \
    F(main_compare, "compiler/emit/standalone_compare.inc")                                        \
    F(main_compare_weights, "compiler/emit/standalone_compare_weights.inc")                        \
    F(main_ranks, "compiler/emit/standalone_main_ranks.inc")                                       \
    F(ranks, "compiler/emit/standalone_ranks.inc")                                                 \
    F(step_ranks, "compiler/emit/standalone_step_ranks.inc")                                       \
    F(embed_header, "compiler/emit/embed_header.inc")                                              \
    F(embed_vector_header, "compiler/emit/embed_vector_header.inc")                                \
    F(embed_scores_header, "compiler/emit/embed_scores_header.inc")                                \
    F(probabilities, "compiler/emit/probabilities.h")                                              \
    F(embed_session, "compiler/emit/embed_session.inc")                                            \
    F(embed_main, "compiler/emit/embed_main.inc")                                                  \
    F(generate_embedded, "compiler/emit/generate_embedded.inc")                                    \
    F(generate_header, "compiler/emit/generate_header.inc")                                        \
    F(packed_weights, "compiler/emit/packed_weights.inc")                                          \
    F(utf8_part, "compiler/files/utf8_part.h")                                                     \
    F(generate_session, "compiler/emit/generate_session.inc")                                      \
    F(generate_text_header, "compiler/emit/generate_text_header.inc")                              \
    F(generate_text, "compiler/emit/generate_text.inc")                                            \
    F(generate_weights, "compiler/emit/generate_weights.inc")                                      \
    F(vnni, "runtime/vnni.inc")                                                                    \
    F(amx, "runtime/amx.inc")                                                                      \
    F(amx_bf16, "runtime/amx_bf16.inc")                                                            \
    F(level, "runtime/level.inc")                                                                  \
    F(half, "runtime/half.inc")                                                                    \
    F(bf16, "runtime/bf16.inc")                                                                    \
    F(bf16_product, "runtime/bf16_product.inc")                                                    \
    F(f16, "runtime/f16.inc")                                                                      \
    F(generate_main, "compiler/emit/generate_main.inc")

#define EMBED(symbol, path)                                                                        \
    __asm__(".section .rodata\n"                                                                   \
            ".globl cr_text_" #symbol "\n"                                                         \
            "cr_text_" #symbol ":\n"                                                               \
            ".incbin \"" path "\"\n"                                                               \
            ".byte 0\n"                                                                            \
            ".previous\n");                                                                        \
    extern const char cr_text_##symbol[];
FILES(EMBED)

static const struct {
    const char *path, *text;
} files[] = {
#define ROW(symbol, path) {path, cr_text_##symbol},
    FILES(ROW)
#undef ROW
};

static int find_file(const char *path)
{
    int n = sizeof files / sizeof *files;
    for (int i = 0; i < n; i++)
        if (strcmp(files[i].path, path) == 0)
            return i;
    cr_throw("bug: a file of the runtime is missing from the table");
    return -1;
}

/* Returns the bit of header `index`, a number in the table of headers, in the set `done`. */
static uint64_t bit_of(int index)
{
    int number = 0;
    for (int i = 0; i < index; i++)
        number += files[i].path[strlen(files[i].path) - 1] == 'h';
    CR_CHECK(number < 64);
    return UINT64_C(1) << number;
}

/* Writes the path of an included file, which is next to the including file or relative to the top
 * folder. */
static void resolve(char path[64], const char *includer, const char *quoted)
{
    const char *end = strchr(quoted, '"'), *slash = strrchr(includer, '/');
    bool neighbour = !memchr(quoted, '/', (size_t)(end - quoted));
    size_t folder = neighbour ? (size_t)(slash + 1 - includer) : 0;
    CR_CHECK(folder + (size_t)(end - quoted) < 64);
    memcpy(path, includer, folder);
    memcpy(path + folder, quoted, (size_t)(end - quoted));
    path[folder + (size_t)(end - quoted)] = 0;
}

/* True if a line begins a row of one of the runtime's tables. */
static bool is_row(const char *line)
{
    return strncmp(line, "    OP(", 7) == 0 || strncmp(line, "    CR_FUNCTION(", 16) == 0 ||
           strncmp(line, "    CR_FUNCTION_BY_LEVEL(", 25) == 0;
}

/* Returns the end of a line or, if the line begins a row of a table, of the row, which may have
 * several lines. */
static const char *end_of(const char *line)
{
    bool row = is_row(line);
    do {
        line += strcspn(line, "\n");
        line += *line == '\n';
    } while (row && strncmp(line, "       ", 7) == 0);
    return line;
}

/* Returns the end of the function or macro definition that follows a line. */
static const char *end_of_definition(const char *line)
{
    while (*line != '}' && strncmp(line, "#define", 7) != 0)
        line = end_of(line);
    bool is_macro = *line == '#';
    do {
        line = end_of(line);
    } while (is_macro && line[-2] == '\\');
    return line;
}

/* True if the text needs something whose name is the `n` bytes at `name`. */
static bool is_needed(const char *name, size_t n, cr_needs_op *needs, void *context)
{
    char copy[64];
    CR_CHECK(n < sizeof copy);
    memcpy(copy, name, n);
    copy[n] = 0;
    return needs(context, copy);
}

/* True if a line is the table row of an op that the text does not need. */
static bool is_surplus_op(const char *line, cr_needs_op *needs, void *context)
{
    return needs && strncmp(line, "    OP(", 7) == 0 &&
           !is_needed(line + 7, strcspn(line + 7, ","), needs, context);
}

/* True if a line begins the table row of a runtime function. */
static bool is_function_row(const char *line)
{
    return is_row(line) && line[4] == 'C';
}

/* Returns the function's name in a table row.  Rows for levels of AVX-512 have two more columns
 * before the name. */
static const char *name_in_row(const char *line)
{
    const char *name = strchr(line, '(') + 1;
    for (int column = line[strlen("    CR_FUNCTION")] == '(' ? 0 : 2; column > 0; column--)
        name = strchr(name, ',') + 2;
    return name;
}

/* True if a line is the table row of a function that the text does not need.  `pointer` is the
 * beginning of the member's name. */
static bool is_surplus_function(const char *line, const char *pointer, cr_needs_op *needs,
                                void *context)
{
    char member[64];
    if (!needs || !is_function_row(line))
        return false;
    const char *name = name_in_row(line);
    int n = snprintf(member, sizeof member, "%s%.*s", pointer, (int)strcspn(name, ","), name);
    CR_CHECK(n < (int)sizeof member);
    return !needs(context, member);
}

/* Adds the row of a function without its type and description, which are in the declaration of
 * the structure. */
static void add_name_of_function(struct cr_text *text, const char *line, const char *end)
{
    const char *type = name_in_row(line);
    type += strcspn(type, ",");
    cr_put(text, "%.*s, , )%s", (int)(type - line), line, end[-2] == '\\' ? " \\\n" : "\n");
}

static const char mark[] = "/* only for ";

/* Returns the first mark "only for NAME, NAME" between `at` and `end`, or null. */
static const char *find_mark(const char *at, const char *end)
{
    for (; (at = memchr(at, '/', (size_t)(end - at))); at++)
        if (strncmp(at, mark, sizeof mark - 1) == 0)
            return at;
    return NULL;
}

/* True if the text needs any of the names in a mark. */
static bool is_mark_needed(const char *at, cr_needs_op *needs, void *context)
{
    for (at += sizeof mark - 1; *at != '*'; at += strspn(at, ", ")) {
        size_t n = strcspn(at, ", ");
        if (is_needed(at, n, needs, context))
            return true;
        at += n;
    }
    return false;
}

/* True if a line, or a row of a table, has a mark "only for" with names of which the text needs
 * none. */
static bool is_surplus_line(const char *line, cr_needs_op *needs, void *context)
{
    const char *end = end_of(line);
    for (const char *at = line; needs && (at = find_mark(at, end)); at++)
        if (!is_mark_needed(at, needs, context))
            return true;
    return false;
}

/* Adds a line, or a row of a table, without its marks. */
static void add_line(struct cr_text *text, const char *line, const char *end)
{
    for (const char *at; (at = find_mark(line, end)); line = strstr(at, "*/") + 2) {
        while (at > line && at[-1] == ' ')
            at--;
        cr_put_bytes(text, line, (size_t)(at - line));
    }
    cr_put_bytes(text, line, (size_t)(end - line));
}

/* True if a line is a comment for clang-format and can be omitted.  If the previous line ends
 * with a backslash, it belongs to a macro, and can be omitted only if an empty line follows,
 * which then ends the macro. */
static bool is_for_formatter(const struct cr_text *text, const char *line, cr_needs_op *needs)
{
    const char *end = strchr(line, '\n');
    bool continues = text->length > 1 && text->data[text->length - 2] == '\\';
    bool ends_macro = continues && !(end && end[1] == '\n');
    return needs && !ends_macro && strncmp(line, "/* clang-format ", 16) == 0;
}

/* Returns the line after `line` if that is empty, else `line`. */
static const char *skip_blank(const char *line)
{
    return line + (*line == '\n');
}

/* True if a file has an include guard, so that it is added only once. */
static bool is_guarded(const char *text)
{
    const char *guard = strstr(text, "#ifndef CR_");
    return guard && strstr(guard, "_H\n#define CR_") == strchr(guard, '\n') - 2;
}

/* Adds the file that an #include "..." in the file `path` names. */
static void add_include(struct cr_text *text, const char *path, const char *quote, uint64_t *done,
                        cr_needs_op *needs, void *context)
{
    char included[64];
    resolve(included, path, quote);
    if (strcmp(included, CR_TEMPLATE_FILE) == 0 && !(needs && needs(context, CR_TEMPLATE_FILE)))
        cr_put(text, "#include CR_TEMPLATE\n");
    else
        cr_add_runtime(text, included, done, needs, context);
}

void cr_add_runtime(struct cr_text *text, const char *path, uint64_t *done, cr_needs_op *needs,
                    void *context)
{
    int index = find_file(path);
    const char *pointer = strcmp(path, "runtime/i32.h") == 0 ? "rt->i32->" : "rt->";
    const char *line = files[index].text, *end;
    if (is_guarded(line)) {
        uint64_t bit = bit_of(index);
        if (*done & bit)
            return;
        *done |= bit;
    }
    for (; *line; line = end) {
        end = end_of(line);
        if (is_for_formatter(text, line, needs))
            continue;
        bool is_mark = find_mark(line, end) == line; /* the mark is on a line of its own */
        const char *quote = strncmp(line, "#include \"", 10) == 0 ? line + 10 : NULL;
        if (is_surplus_line(line, needs, context)) {
            if (is_mark)
                end = skip_blank(end_of_definition(line));
        } else if (quote) {
            add_include(text, path, quote, done, needs, context);
        } else if (!is_mark && !is_surplus_op(line, needs, context) &&
                   !is_surplus_function(line, pointer, needs, context)) {
            if (needs && is_function_row(line))
                add_name_of_function(text, line, end);
            else
                add_line(text, line, end);
        }
    }
}

void cr_put_description(struct cr_text *text, const char *path, const char *name)
{
    const char *line = files[find_file(path)].text, *end = line;
    size_t n = strlen(name);
    do {
        line = end;
        end = end_of(line);
    } while (*line && (!is_function_row(line) || strncmp(name_in_row(line), name, n) != 0 ||
                       name_in_row(line)[n] != ','));
    const char *comment = strstr(line, "        /*");
    if (!*line || !comment || comment > end)
        return;
    for (line = comment; line < end; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n");
        while (line[length - 1] == '\\' || line[length - 1] == ' ')
            length--;
        cr_put(text, "%.*s\n", (int)length - 4, line + 4);
    }
}
