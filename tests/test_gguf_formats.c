/*
 * test_gguf_formats.c - weights of GGUF files in the formats of their tensors: blocks are copied, since
 * quantising them again would change them; the results have the bits of a run with the decoded float32
 * weights, and are near to double precision, for every instruction set, number of threads, backend and
 * emitted program; rules select other formats; and errors in such a file are reported in one line.
 */
#include "gguf_models.h"

enum { MAX_TEXT = 1 << 16 };

/* A type of matrices, the format in which they are kept, and whether rounding the values again
 * would change them. */
static const struct kind {
    int type;
    const char *format;
    bool changes;
} kinds[] = {
    {GGML_Q8_0, "q8", true},  {GGML_Q4_0, "q4", true},    {GGML_Q4_1, "q4", true},
    {GGML_F16, "f16", false}, {GGML_BF16, "bf16", false}, {GGML_F32, "f32", false},
    {MIXED, NULL, false},
};

/* ---- formats ---- */

/* Returns the format of a parameter: its tensor's for a matrix other than the table of positions, else
 * f32. */
static const char *format_of(const crescent_port *port, int type)
{
    type = type == MIXED ? type_of(port->name) : type;
    if (port->rank == 2 && !strstr(port->name, "wpe"))
        for (int i = 0; i < COUNT(kinds); i++)
            if (kinds[i].type == type)
                return kinds[i].format;
    return "f32";
}

static void check_formats(int type)
{
    crescent_model *model;
    crescent_graph *graph;
    crescent_port port;
    int narrow = 0;
    GOOD(crescent_graph_open(context, in_folder("model.gguf"), NULL, &graph));
    GOOD(crescent_compile(graph, NULL, &model));
    for (int i = 0; !crescent_port_at(model, CRESCENT_PARAM, i, &port); i++) {
        ck_assert_msg(strcmp(port.format, format_of(&port, type)) == 0, "%s is in %s, expected %s",
                      port.name, port.format, format_of(&port, type));
        narrow += strcmp(port.format, "f32") != 0;
        GOOD(crescent_graph_port_at(graph, CRESCENT_PARAM, i, &port));
        ck_assert_ptr_nonnull(port.format);
    }
    ck_assert_int_eq(narrow > 0, type != GGML_F32);
    crescent_close(model);
    crescent_graph_close(graph);
}

/* Returns the largest absolute difference of two lists of numbers, which are about 1. */
static double distance(const float *a, const float *b, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

START_TEST(keeps_the_formats_of_the_file)
{
    static float own[MAX_OUTPUT], floats[MAX_OUTPUT], exact[MAX_OUTPUT], again[MAX_OUTPUT];
    const struct family *f = &families[_i % COUNT(families)];
    const struct kind *kind = &kinds[_i / COUNT(families)];
    struct gguf g = {.n_values = 0};
    make_both(f, kind->type, &g);
    check_formats(kind->type);
    int64_t n = run(in_folder("model.gguf"), NULL, own);
    ck_assert_int_eq(run(folder, NULL, floats), n);
    ck_assert_msg(crescent_same_bits(own, floats, n), "type %d of %s", kind->type, f->name);
    run_as(folder, NULL, &(crescent_config){.backend = CRESCENT_REF}, exact);
    ck_assert_double_le(distance(own, exact, n), 2e-5 * fmax(1, distance(exact, again, n)));
    if (kind->changes) {
        run_as(folder, NULL, &(crescent_config){.format = kind->format}, again);
        ck_assert_double_ge(distance(again, exact, n), 100 * distance(own, exact, n));
    }
}
END_TEST

/* ---- the same bits ---- */

static const crescent_config ways[] = {
    {.isa = "plain"}, {.isa = "avx2"}, {.isa = "avx512"}, {.isa = "vnni"},
    {.isa = "amx"},   {.threads = 2},  {.threads = 3},    {.backend = CRESCENT_CC},
};

/* Every backend, instruction set and number of threads gives the same bits, in both arithmetics;
 * what the machine lacks is skipped. */
START_TEST(gives_the_same_bits_everywhere)
{
    static float expected[MAX_OUTPUT], found[MAX_OUTPUT];
    static const char *const arithmetics[] = {NULL, "int8"};
    struct gguf g = {.n_values = 0};
    crescent_model *model;
    make_both(&families[0], MIXED, &g);
    const char *path = in_folder("model.gguf");
    for (int a = 0; a < COUNT(arithmetics); a++) {
        crescent_config config = {.arithmetic = arithmetics[a]};
        int64_t n = run_as(path, NULL, &config, expected);
        for (int w = 0; w < COUNT(ways) - a; w++) {
            config = ways[w];
            config.arithmetic = arithmetics[a];
            if (crescent_open(context, path, NULL, &config, &model))
                continue;
            crescent_close(model);
            run_as(path, NULL, &config, found);
            ck_assert_msg(crescent_same_bits(found, expected, n), "way %d, arithmetic %d", w, a);
        }
    }
}
END_TEST

/* Runs a line of the shell in which $T is the folder and $M the file; returns both output streams. */
static const char *shell(int status, const char *line)
{
    static char out[MAX_TEXT];
    char all[1600];
    const char *crescent = getenv("CRESCENT");
    snprintf(all, sizeof all,
             "{ T=%s; M=$T/model.gguf; crescent() { '%s' \"$@\"; }; . tests/plain_c.sh; %s; } 2>&1",
             folder, crescent ? crescent : "build/crescent", line);
    FILE *pipe = popen(all, "r");
    ck_assert_ptr_nonnull(pipe);
    out[fread(out, 1, sizeof out - 1, pipe)] = '\0';
    int found = pclose(pipe) >> 8;
    ck_assert_msg(found == status, "%s: status %d, expected %d: %s", line, found, status, out);
    return out;
}

/* An emitted program has the bits of the library, with embedded weights and with a weight file. */
START_TEST(is_written_as_a_program)
{
    static const char tokens[] = "--prompt-ids 3,1,4 --tokens 40";
    char expected[1024], line[400];
    struct gguf g = {.n_values = 0};
    make_both(&families[0], MIXED, &g);
    snprintf(line, sizeof line, "crescent generate $M --ids --ignore-eos %s", tokens);
    strcpy(expected, shell(0, line));
    shell(0, "crescent emit $M --generate --ids --pack $T/packed -o $T/m.c >/dev/null && "
             "mkdir $T/plain && plain $T/m.c $T/plain && "
             "cc -O0 -DLLAMA_MAIN $T/plain/m.c -lm -o $T/m");
    snprintf(line, sizeof line, "$T/m $T/packed %s", tokens);
    ck_assert_str_eq(shell(0, line), expected);
    ck_assert_ptr_nonnull(strstr(shell(0, "grep -o 'weights in q[48]' $T/m.c | sort -u"), "q4\nw"));
    shell(0, "crescent emit $M --generate --ids --embed-array -o $T/a.c >/dev/null && "
             "plain $T/a.c $T/plain && cc -O0 -DLLAMA_MAIN $T/plain/a.c -lm -o $T/a");
    snprintf(line, sizeof line, "$T/a %s", tokens);
    ck_assert_str_eq(shell(0, line), expected);
}
END_TEST

/* ---- rules ---- */

/* Returns the formats of some parameters under rules, in order: "q8 f32 f32". */
static const char *formats_under(const char *rules, const char *const *names, int n)
{
    static char text[128];
    crescent_model *model;
    crescent_port port;
    text[0] = '\0';
    GOOD(crescent_open(context, in_folder("model.gguf"), NULL, &(crescent_config){.format = rules},
                       &model));
    for (int i = 0; i < n; i++) {
        int index = crescent_port_find(model, CRESCENT_PARAM, names[i]);
        GOOD(crescent_port_at(model, CRESCENT_PARAM, index, &port));
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "",
                 port.format);
    }
    crescent_close(model);
    return text;
}

START_TEST(follows_rules_first)
{
    static float expected[MAX_OUTPUT], found[MAX_OUTPUT];
    static const char *const names[] = {"lm_head.weight", "model.layers.0.self_attn.q_proj.weight",
                                        "model.layers.0.self_attn.k_proj.weight",
                                        "model.layers.1.self_attn.v_proj.weight",
                                        "model.layers.0.self_attn.o_proj.weight"};
    static const char *const cases[][2] = {
        {NULL, "q8 q8 q4 f32 q4"},
        {"f32", "f32 f32 f32 f32 f32"},
        {"*=f32", "f32 f32 f32 f32 f32"},
        {"lm_head*=q4", "q4 q8 q4 f32 q4"},
        {"f32,lm_head*=q8", "q8 f32 f32 f32 f32"},
        {"bf16", "bf16 bf16 bf16 bf16 bf16"},
        {"*v_proj*=q8", "q8 q8 q4 q8 q4"},
    };
    struct gguf g = {.n_values = 0};
    make_both(&families[0], MIXED, &g);
    for (int i = 0; i < COUNT(cases); i++)
        ck_assert_str_eq(formats_under(cases[i][0], names, COUNT(names)), cases[i][1]);
    int64_t n = run(folder, NULL, expected);
    run_as(in_folder("model.gguf"), NULL, &(crescent_config){.format = "f32"}, found);
    ck_assert(crescent_same_bits(found, expected, n));
    run_as(in_folder("model.gguf"), NULL, &(crescent_config){.format = "lm_head*=q4"}, found);
    ck_assert(!crescent_same_bits(found, expected, n));
}
END_TEST

/* ---- the command line ---- */

/* Each verb prints the formats that it uses for a file in Q8_0 with a tensor in Q4_0. */
START_TEST(every_verb_prints_formats)
{
    static const char *const cases[][2] = {
        {"crescent params $M",
         "self_attn.k_proj.weight          [16, 32]                      512  q4\n"},
        {"crescent params $M --json", "\"format\": \"q8\""},
        {"crescent params $M --format f32 | grep -c 'q[48]$' | grep -x 0", "0"},
        {"crescent run $M", "Weights: 6 in q8, 7 in f32, 4 in q4, 2 in f16, 2 in bf16\n"},
        {"crescent run $M --grads none", "Parameters: "},
        {"crescent run $M --format f32", "Parameters: "},
        {"crescent generate $M --ids --prompt-ids 3,1 --tokens 4 --stats", "Weights: "},
        {"crescent bench $M --seconds 0.01", "Weights: "},
        {"crescent evaluate $M --prompt-ids 1,2,3,4,5,6,7", "own  "},
        {"crescent evaluate $M --prompt-ids 1,2,3,4,5,6,7 --json", "\"perplexity\""},
        {"crescent evaluate $M --prompt-ids 1,2,3,4,5,6,7 --arithmetic int8", "own  "},
        {"crescent evaluate $M --prompt-ids 1,2,3,4,5,6,7 --format q4", "q4  "},
        {"crescent emit $M -o $T/e.c >/dev/null && grep -o 'weights in q[48]' $T/e.c | sort -u",
         "weights in q4\nweights in q8\n"},
        {"crescent dump $M --after schedule | grep q_proj", " q8 [32, 32]"},
        {"crescent compare $M --backends tcc,ref", "agreement"},
    };
    struct gguf g = {.n_values = 0};
    make_both(&families[0], MIXED, &g);
    for (int i = 0; i < COUNT(cases); i++) {
        const char *found = shell(0, cases[i][0]);
        ck_assert_msg(strstr(found, cases[i][1]) != NULL, "%s: %.400s", cases[i][0], found);
    }
    ck_assert_ptr_null(strstr(shell(0, "crescent run $M --grads none"), "Weights: "));
    ck_assert_ptr_null(strstr(shell(0, "crescent run $M --weights $T"), "Weights: "));
    shell(2, "crescent run $M --grads none --format q8");
}
END_TEST

/* The perplexity with the file's own formats is equal to the one in f32, to the last digit. */
START_TEST(is_evaluated_beside_floats)
{
    double own, plain, changed;
    struct gguf g = {.n_values = 0};
    make_both(&families[0], GGML_Q8_0, &g);
    const char *ids = "--prompt-ids 1,2,3,4,5,6,7,8,9,10";
    char line[200];
    const char *const options[] = {"", "--format f32", "--arithmetic int8"};
    double *const values[] = {&own, &plain, &changed};
    for (int i = 0; i < COUNT(options); i++) {
        snprintf(line, sizeof line, "crescent evaluate $M %s %s | tail -n 1", ids, options[i]);
        ck_assert_int_eq(sscanf(shell(0, line), "%*s %lf", values[i]), 1);
    }
    ck_assert_double_eq(own, plain);
    ck_assert_double_ne(own, changed);
    ck_assert_double_eq_tol(own, changed, 0.01 * own);
}
END_TEST

/* ---- errors in a file ---- */

static struct bytes read_bytes(const char *path)
{
    struct bytes b = {NULL, 0, 0};
    char part[4096];
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;)
        put(&b, part, n);
    fclose(file);
    return b;
}

/* Opens the file and loads its weights, which must fail with a message of one line that begins with
 * the path. */
static bool is_refused(const char *path)
{
    crescent_model *model;
    int status = crescent_open(context, path, NULL, NULL, &model);
    if (!status) {
        status = crescent_load_weights(model, &path, 1, CRESCENT_ANY_TENSORS, NULL);
        crescent_close(model);
    }
    if (!status)
        return false;
    const char *error = crescent_error(context);
    ck_assert_msg(strncmp(error, path, strlen(path)) == 0 && !strchr(error, '\n'), "%s", error);
    return true;
}

/* A file that is cut off anywhere is refused: in the header, the metadata, the descriptions of
 * tensors, the data. */
START_TEST(refuses_files_that_are_cut)
{
    struct gguf g = {.n_values = 0};
    make_both(&families[0], MIXED, &g);
    struct bytes b = read_bytes(in_folder("model.gguf"));
    const char *path = in_folder("cut.gguf");
    for (size_t n = b.n - 32, whole = b.n; n > 0; n -= n < 4096 ? (n < 37 ? 1 : 37) : 1501) {
        struct bytes cut = {b.at, n, 0};
        write_bytes(path, &cut);
        ck_assert_msg(is_refused(path), "%zu of %zu bytes are enough", n, whole);
    }
    free(b.at);
}
END_TEST

/* Returns the offset of a text in the file. */
static size_t find_text(const struct bytes *b, const char *text)
{
    for (size_t i = 0; i + strlen(text) <= b->n; i++)
        if (memcmp(b->at + i, text, strlen(text)) == 0)
            return i;
    ck_abort_msg("no %s", text);
}

/* With one number of the file replaced, the program ends with status 2 and one line, and prints
 * nothing else. */
START_TEST(refuses_files_that_are_corrupt)
{
    static const struct {
        const char
            *behind; /* offset of the number from the start of this text, or of the file */
        int at;
        uint64_t value;
        const char *expected;
    } cases[] = {
        {NULL, 0, 0x46554746, "expected"},                           /* the magic */
        {NULL, 4, 9, "version"},                                     /* and behind it */
        {NULL, 8, (uint64_t)1 << 60, "expected"},                    /* tensors */
        {NULL, 16, (uint64_t)1 << 60, "expected"},                   /* values */
        {"general.architecture", -8, (uint64_t)1 << 50, "expected"}, /* the length of a key */
        {"general.architecture", 20, 77, "expected"},                /* a type of values */
        {"llama.block_count", 17, GGUF_F32, "expected"},             /* another one */
        {"blk.0.attn_q.weight", 19, 99, "expected"},                 /* axes */
        {"blk.0.attn_q.weight", 23, 33, "expected"}, /* a size that is not a multiple of a block */
        {"blk.0.attn_q.weight", 31, (uint64_t)1 << 62, "can be counted"}, /* too many */
        {"blk.0.attn_q.weight", 39, 1234, "expected"},                    /* a type of tensors */
        {"blk.0.attn_q.weight", 39, GGML_Q4_K, "expected"},               /* one that is not read */
        {"blk.0.attn_q.weight", 43, 1, "expected"}, /* an offset that is not aligned */
        {"blk.0.attn_q.weight", 43, (uint64_t)1 << 40, "expected"}, /* beyond the end */
    };
    struct gguf g = {.n_values = 0};
    make_both(&families[0], GGML_Q8_0, &g);
    struct bytes good = read_bytes(in_folder("model.gguf"));
    for (int i = 0; i < COUNT(cases); i++) {
        struct bytes b = {NULL, 0, 0};
        put(&b, good.at, good.n);
        size_t from = cases[i].behind ? find_text(&b, cases[i].behind) : 0;
        bool four = !cases[i].behind ? cases[i].at < 8
                                     : cases[i].at > 16 && cases[i].at != 31 && cases[i].at != 23 &&
                                           cases[i].at != 43;
        memcpy(b.at + from + (size_t)cases[i].at, &cases[i].value, four ? 4 : 8);
        write_bytes(in_folder("bad.gguf"), &b);
        const char *found = shell(2, "crescent run $T/bad.gguf");
        ck_assert_msg(strncmp(found, "crescent: ", 10) == 0 && strstr(found, cases[i].expected) &&
                          strchr(found, '\n') == found + strlen(found) - 1,
                      "case %d: %s", i, found);
        free(b.at);
    }
    free(good.at);
}
END_TEST

/* A table of i32 is refused: i32 is a format of buffers, but not of weights. */
START_TEST(refuses_integers_for_weights)
{
    static const uint32_t i32 = 26;
    struct gguf g = {.n_values = 0};
    make_both(&families[0], GGML_F32, &g);
    struct bytes b = read_bytes(in_folder("model.gguf"));
    memcpy(b.at + find_text(&b, "token_embd.weight") + 37, &i32, sizeof i32);
    write_bytes(in_folder("bad.gguf"), &b);
    free(b.at);
    for (int i = 0; i < 2; i++) {
        const char *found = shell(2, i ? "crescent run $T/bad.gguf --format bf16"
                                       : "crescent run $T/bad.gguf");
        ck_assert_msg(strstr(found, "bad.gguf: tensor 'token_embd.weight' has type I32, expected one of"),
                      "%s", found);
        ck_assert_ptr_eq(strchr(found, '\n'), found + strlen(found) - 1);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gguf_formats");
    TCase *tests = tcase_create("gguf_formats");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, keeps_the_formats_of_the_file, 0, COUNT(kinds) * COUNT(families));
    tcase_add_test(tests, gives_the_same_bits_everywhere);
    tcase_add_test(tests, is_written_as_a_program);
    tcase_add_test(tests, follows_rules_first);
    tcase_add_test(tests, every_verb_prints_formats);
    tcase_add_test(tests, is_evaluated_beside_floats);
    tcase_add_test(tests, refuses_files_that_are_cut);
    tcase_add_test(tests, refuses_files_that_are_corrupt);
    tcase_add_test(tests, refuses_integers_for_weights);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
