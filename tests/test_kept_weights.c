/*
 * test_kept_weights.c - packed weights that are cached in files: a run gives the same bits, a
 * changed source makes a file invalid, and all files together respect a limit.
 */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/crescent.h"
#include "onnx_writer.h"

enum { N = 2 * 8 * 48, PLENTY = 1 << 30 };
#define BLOCK "graphs/gpt2_block.lua"

static char folder[64], cache[96], weights[96];
static crescent_context *last; /* the context of the model that was opened last, for error messages */

#define GOOD(context, call)                                                                        \
    ck_assert_msg((call) == CRESCENT_OK, "%s: %s", #call, crescent_error(context))

/* Opens a model whose weights may be cached; `format` may be null. */
static crescent_model *open_model(int64_t bytes, const char *format, crescent_backend backend)
{
    static const crescent_setting sizes[] = {{"B", "2"}, {"T", "8"}, {"n_embd", "48"}, {"n_head", "3"}};
    const crescent_script script = {.settings = sizes, .n_settings = 4};
    const crescent_config config = {.backend = backend, .threads = 2, .format = format};
    crescent_context *context = crescent_context_new();
    crescent_model *model;
    GOOD(context, crescent_cache_weights(context, bytes));
    GOOD(context, crescent_open(context, BLOCK, &script, &config, &model));
    crescent_context_free(last); /* its model refers to it */
    last = context;
    return model;
}

static void load(crescent_model *model)
{
    const char *path = weights;
    ck_assert_int_eq(crescent_load_weights(model, &path, 1, CRESCENT_MODEL_TENSORS_ONLY, NULL),
                     CRESCENT_OK);
}

static void run(crescent_model *model, float *y)
{
    float x[N];
    ck_assert_int_eq(crescent_draw_input(model, 0, 1, x), CRESCENT_OK);
    ck_assert_int_eq(crescent_run(model, (const void *[]){x}, (void *[]){y}), CRESCENT_OK);
}

/* Opens, loads and runs a model, which caches its weights; returns true if they were cached before. */
static bool was_cached(const char *format, float *y)
{
    crescent_model *model = open_model(PLENTY, format, CRESCENT_TCC);
    int64_t written, least = crescent_uncached_weights(model);
    ck_assert_int_eq(least, 0);
    load(model);
    int64_t bytes = crescent_uncached_weights(model);
    ck_assert((bytes == 0) == (crescent_cached_weights(model) > 0));
    run(model, y);
    ck_assert_int_eq(crescent_write_cache(model, &written), CRESCENT_OK);
    ck_assert(bytes ? written > bytes : written == 0);
    crescent_close(model);
    return bytes == 0;
}

/* Asserts that writing the uncached weights fails with a message that contains `why`. */
static void fails_to_write(crescent_model *model, const char *why)
{
    int64_t written = -1;
    ck_assert_int_ne(crescent_write_cache(model, &written), CRESCENT_OK);
    ck_assert_int_eq(written, 0);
    ck_assert_msg(strstr(crescent_error(last), why) != NULL, "%s", crescent_error(last));
}

/* Saves a file of random weights of a seed. */
static void save_weights(int64_t seed)
{
    crescent_model *model = open_model(0, NULL, CRESCENT_TCC);
    ck_assert_int_eq(crescent_keep_weights(model), CRESCENT_OK);
    ck_assert_int_eq(crescent_draw_weights(model, seed), CRESCENT_OK);
    ck_assert_int_eq(crescent_save_weights(model, weights), CRESCENT_OK);
    crescent_close(model);
}

/* Counts the cached files; `path` becomes the path of the last one. */
static int count_files(char path[400])
{
    char inner[128];
    struct dirent *entry;
    int n = 0;
    snprintf(inner, sizeof inner, "%s/crescent", cache);
    DIR *open_folder = opendir(inner);
    while (open_folder && (entry = readdir(open_folder)))
        if (strstr(entry->d_name, ".weights")) {
            snprintf(path, 400, "%s/%s", inner, entry->d_name);
            n++;
        }
    if (open_folder)
        closedir(open_folder);
    return n;
}

static void set_up(void)
{
    strcpy(folder, "/tmp/test_kept.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(cache, sizeof cache, "%s/cache", folder);
    snprintf(weights, sizeof weights, "%s/w.safetensors", folder);
    setenv("XDG_CACHE_HOME", cache, 1);
    save_weights(3);
}

static void tear_down(void)
{
    char command[128];
    crescent_context_free(last);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* ---- bits ---- */

static const char *const formats[] = {NULL, "bf16", "q8", "q4", "f32,*.c_fc.*=q4"};
enum { N_FORMATS = sizeof formats / sizeof *formats };

/* A run with mapped cached weights has the bits of a run that read them; each format has its own
 * cached file. */
START_TEST(gives_the_same_bits)
{
    float first[N], second[N], third[N];
    char path[400];
    ck_assert(!was_cached(formats[_i], first));
    ck_assert(was_cached(formats[_i], second));
    ck_assert_mem_eq(first, second, sizeof first);
    ck_assert_int_eq(count_files(path), 1);
    ck_assert(!was_cached(formats[(_i + 1) % N_FORMATS], third));
    ck_assert_int_eq(count_files(path), 2);
    ck_assert(was_cached(formats[_i], third));
    ck_assert_mem_eq(first, third, sizeof first);
}
END_TEST

/* Setting a parameter changes neither the cached file nor another model that maps it. */
START_TEST(keeps_what_is_set_apart)
{
    float first[N], second[N], third[N];
    crescent_port port;
    ck_assert(!was_cached(NULL, first));
    crescent_model *model = open_model(PLENTY, NULL, CRESCENT_TCC),
                   *other = open_model(PLENTY, NULL, CRESCENT_TCC);
    load(model);
    load(other);
    int last = crescent_port_count(model, CRESCENT_PARAM) - 1;
    ck_assert_int_eq(crescent_port_at(model, CRESCENT_PARAM, last, &port), CRESCENT_OK);
    float *ones = malloc((size_t)crescent_port_elements(&port) * sizeof *ones);
    for (int64_t i = 0; i < crescent_port_elements(&port); i++)
        ones[i] = 1;
    ck_assert_int_eq(crescent_set_weight(model, last, ones), CRESCENT_OK);
    run(model, second);
    run(other, third);
    ck_assert_mem_eq(first, third, sizeof first);
    ck_assert(memcmp(first, second, sizeof first) != 0);
    ck_assert_int_eq(crescent_uncached_weights(model), 0);
    crescent_close(model);
    crescent_close(other);
    ck_assert(was_cached(NULL, third));
    ck_assert_mem_eq(first, third, sizeof first);
    free(ones);
}
END_TEST

/* ---- what a file depends on ---- */

/* Changes one byte near the end of the weight file, and restores its times. */
static void change_a_byte(void)
{
    struct stat status;
    unsigned char byte;
    int fd = open(weights, O_RDWR);
    ck_assert(fd >= 0 && fstat(fd, &status) == 0);
    ck_assert(pread(fd, &byte, 1, status.st_size - 1) == 1);
    byte ^= 0x40;
    ck_assert(pwrite(fd, &byte, 1, status.st_size - 1) == 1);
    ck_assert(futimens(fd, (struct timespec[]){status.st_atim, status.st_mtim}) == 0);
    close(fd);
}

/* A weight file that was rewritten is read, even if it was changed in place and has its old
 * times. */
START_TEST(sees_other_weights)
{
    float first[N], second[N], third[N];
    ck_assert(!was_cached(NULL, first));
    save_weights(4);
    ck_assert(!was_cached(NULL, second));
    ck_assert(memcmp(first, second, sizeof first) != 0);
    usleep(20000); /* waits for a tick of the file system's clock */
    change_a_byte();
    ck_assert(!was_cached(NULL, third));
    ck_assert(memcmp(second, third, sizeof first) != 0);
    ck_assert(was_cached(NULL, second));
    ck_assert_mem_eq(second, third, sizeof first);
}
END_TEST

/* A cached file that was cut off, or has another key, is ignored and replaced. */
START_TEST(passes_over_damaged_files)
{
    float first[N], second[N];
    char path[400];
    struct stat status;
    ck_assert(!was_cached(NULL, first));
    ck_assert_int_eq(count_files(path), 1);
    ck_assert(stat(path, &status) == 0 && truncate(path, status.st_size - 1) == 0);
    ck_assert(!was_cached(NULL, second));
    ck_assert_mem_eq(first, second, sizeof first);
    ck_assert(was_cached(NULL, second));
    int fd = open(path, O_WRONLY);
    ck_assert(fd >= 0 && pwrite(fd, "X", 1, 40) == 1);
    close(fd);
    ck_assert(!was_cached(NULL, second));
    ck_assert_mem_eq(first, second, sizeof first);
    ck_assert(was_cached(NULL, second));
}
END_TEST

/* Random weights and weights of the interpreter are not cached, and nothing is cached where it is not
 * allowed. */
START_TEST(keeps_nothing_unasked)
{
    char path[400];
    int64_t written = -1;
    crescent_model *drawn = open_model(PLENTY, NULL, CRESCENT_TCC),
                   *ref = open_model(PLENTY, NULL, CRESCENT_REF),
                   *off = open_model(0, NULL, CRESCENT_TCC);
    load(drawn);
    ck_assert(crescent_uncached_weights(drawn) > 0);
    ck_assert_int_eq(crescent_draw_weights(drawn, 5), CRESCENT_OK);
    load(ref);
    load(off);
    crescent_model *models[] = {drawn, ref, off};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(crescent_uncached_weights(models[i]), 0);
        ck_assert_int_eq(crescent_write_cache(models[i], &written), CRESCENT_OK);
        ck_assert_int_eq(written, 0);
        crescent_close(models[i]);
    }
    ck_assert_int_eq(count_files(path), 0);
}
END_TEST

/* Weights whose file changed after they were read are not cached. */
START_TEST(keeps_nothing_that_changed)
{
    char path[400];
    crescent_model *model = open_model(PLENTY, NULL, CRESCENT_TCC);
    load(model);
    usleep(20000);
    change_a_byte();
    fails_to_write(model, "the file changed since it was read, expected it unchanged");
    ck_assert_int_eq(count_files(path), 0);
    crescent_close(model);
}
END_TEST

/* ---- the limit of the cache ---- */

/* With a bound for one f32 file, the least recently used file is removed first. */
START_TEST(removes_the_oldest)
{
    float y[N];
    char path[400];
    int64_t written[3], bytes[3];
    static const char *const kept[] = {"q4", "q8", NULL};
    for (int i = 0; i < 3; i++) {
        crescent_model *model = open_model(i < 2 ? PLENTY : written[0] / 2, kept[i], CRESCENT_TCC);
        load(model);
        bytes[i] = crescent_uncached_weights(model);
        if (i < 2)
            ck_assert_int_eq(crescent_write_cache(model, &written[i]), CRESCENT_OK);
        else /* larger than the limit by itself: nothing is removed */
            fails_to_write(model, "bytes to keep, expected at most the");
        crescent_close(model);
        usleep(20000);
    }
    ck_assert(written[0] > 0 && written[1] > written[0]);
    ck_assert_int_eq(count_files(path), 2);
    ck_assert(was_cached("q4", y)); /* so that q8 is the oldest */
    usleep(20000);
    int64_t page = 4096, key = written[0] - bytes[0], bound = written[0] + bytes[2] + key + page;
    crescent_model *model = open_model(bound, NULL, CRESCENT_TCC);
    load(model);
    ck_assert_int_eq(crescent_write_cache(model, &written[2]), CRESCENT_OK);
    ck_assert(written[2] > 0 && written[2] + written[0] <= bound);
    crescent_close(model);
    ck_assert_int_eq(count_files(path), 2);
    ck_assert(was_cached("q4", y));
    ck_assert(was_cached(NULL, y));
    ck_assert(!was_cached("q8", y));
}
END_TEST

/* Without a cache folder, or with one that cannot be created, weights are read and no message
 * appears. */
START_TEST(does_without_a_folder)
{
    float y[N];
    int64_t written = -1;
    unsetenv("HOME");
    const char *places[] = {"relative", "/dev/null/below"};
    for (int i = 0; i < 2; i++) {
        setenv("XDG_CACHE_HOME", places[i], 1);
        crescent_model *model = open_model(PLENTY, NULL, CRESCENT_TCC);
        load(model);
        run(model, y);
        if (i == 0) {
            ck_assert_int_eq(crescent_write_cache(model, &written), CRESCENT_OK);
            ck_assert_int_eq(written, 0);
        } else {
            fails_to_write(model, "/dev/null/below/crescent: ");
        }
        crescent_close(model);
    }
}
END_TEST

/* If several processes would write the same weights at the same time, only one writes them. */
START_TEST(writes_alone)
{
    char inner[128], path[400];
    int64_t written;
    crescent_model *model = open_model(PLENTY, NULL, CRESCENT_TCC);
    load(model);
    snprintf(inner, sizeof inner, "%s/crescent", cache);
    ck_assert(mkdir(cache, 0700) == 0 && mkdir(inner, 0700) == 0);
    int fd = open(inner, O_RDONLY | O_DIRECTORY);
    ck_assert(fd >= 0 && flock(fd, LOCK_EX) == 0);
    fails_to_write(model, "another process is writing there, expected one process at a time");
    ck_assert_int_eq(count_files(path), 0);
    close(fd);
    ck_assert_int_eq(crescent_write_cache(model, &written), CRESCENT_OK);
    ck_assert(written > 0);
    ck_assert_int_eq(count_files(path), 1);
    crescent_close(model);
}
END_TEST

/* ---- ONNX files ---- */

enum { FLOAT = 1, INT64 = 7, ROWS = 40, COLS = 3, TABLE = ROWS * COLS };

/* The initializers of an ONNX model: import transposes `layer`, and folds a sum of `square`. */
struct contents {
    float layer[4 * COLS], bias[COLS], square[COLS * COLS], far[COLS];
    int64_t table[TABLE];
};

static struct contents some_contents(void)
{
    struct contents c;
    for (int i = 0; i < 4 * COLS; i++)
        c.layer[i] = (float)(i % 5) - 1.5f;
    for (int i = 0; i < COLS * COLS; i++)
        c.square[i] = (float)(i % 4) / 8;
    for (int i = 0; i < COLS; i++) {
        c.bias[i] = (float)i;
        c.far[i] = 1 + (float)i / 4;
    }
    for (int i = 0; i < TABLE; i++)
        c.table[i] = i * i % 17;
    return c;
}

/* Rewrites a file in the folder, with the current time. */
static void write_file(const char *name, const void *bytes, size_t n)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
    ck_assert_int_eq(fclose(file), 0);
}

/* Appends the initializer "far", whose elements are in another file. */
static void put_far(struct message *graph, const char *location)
{
    struct message tensor = {.n = 0}, place = {.n = 0};
    put_integer(&tensor, 1, COLS);
    put_integer(&tensor, 2, FLOAT);
    put_text(&tensor, 8, "far");
    put_text(&place, 1, "location");
    put_text(&place, 2, location);
    put_message(&tensor, 13, &place);
    put_integer(&tensor, 14, 1);
    put_message(graph, 5, &tensor);
}

/* Appends the nodes: h = (x layer + bias) far, y = h square + h square' + the first n rows of the
 * table. */
static void put_nodes(struct message *graph)
{
    struct message start = {.n = 0}, to_float = {.n = 0};
    put_integer_attribute(&start, "start", 0);
    put_integer_attribute(&start, "end", 1);
    put_integer_attribute(&to_float, "to", FLOAT);
    put_node(graph, "MatMul", "x onnx::MatMul_7", "product", NULL);
    put_node(graph, "Add", "product fc.bias", "layer", NULL);
    put_node(graph, "Mul", "layer far", "h", NULL);
    put_node(graph, "MatMul", "h square", "a", NULL);
    put_node(graph, "Transpose", "square", "turned", NULL);
    put_node(graph, "MatMul", "h turned", "b", NULL);
    put_node(graph, "Shape", "x", "n", &start);
    put_node(graph, "Cast", "table", "floats", &to_float);
    put_node(graph, "Slice", "floats zero n zero", "rows", NULL);
    put_node(graph, "Add", "a b", "c", NULL);
    put_node(graph, "Add", "c rows", "y", NULL);
}

/* Writes the model, and its external data into the file `far`. */
static void write_onnx(const struct contents *c, const char *far)
{
    static const int64_t zero[] = {0};
    struct message graph = {.n = 0};
    put_nodes(&graph);
    put_tensor(&graph, "onnx::MatMul_7", FLOAT, 2, (int64_t[]){4, COLS}, c->layer, sizeof c->layer);
    put_tensor(&graph, "fc.bias", FLOAT, 1, (int64_t[]){COLS}, c->bias, sizeof c->bias);
    put_tensor(&graph, "square", FLOAT, 2, (int64_t[]){COLS, COLS}, c->square, sizeof c->square);
    put_tensor(&graph, "table", INT64, 2, (int64_t[]){ROWS, COLS}, c->table, sizeof c->table);
    put_tensor(&graph, "zero", INT64, 1, (int64_t[]){1}, zero, sizeof zero);
    put_far(&graph, far);
    put_value(&graph, 11, "x", FLOAT, 2, (int64_t[]){SYMBOL('n'), 4});
    put_value(&graph, 12, "y", FLOAT, 2, (int64_t[]){SYMBOL('n'), COLS});
    struct message model = model_of(&graph, 17);
    write_file("m.onnx", model.at, model.n);
    write_file(far, c->far, sizeof c->far);
}

/* Runs the model with a setting such as "n=40" and caches its weights, unless `bytes` is 0; returns
 * true if they were cached before. */
static bool onnx_was_cached(const char *set, int64_t bytes, bool is_length, float *y)
{
    char path[128], name[] = {*set, '\0'};
    float x[ROWS * 4];
    int64_t written;
    const crescent_setting size = {name, set + 2};
    const crescent_script script = {
        .settings = &size, .n_settings = !is_length, .lengths = &size, .n_lengths = is_length};
    crescent_context *context = crescent_context_new();
    crescent_model *model;
    snprintf(path, sizeof path, "%s/m.onnx", folder);
    GOOD(context, crescent_cache_weights(context, bytes));
    GOOD(context, crescent_open(context, path, &script, NULL, &model));
    const char *own = crescent_weights_path(model);
    GOOD(context, crescent_load_weights(model, &own, 1, CRESCENT_ANY_TENSORS, NULL));
    int64_t due = crescent_uncached_weights(model);
    bool was_cached = crescent_cached_weights(model) > 0;
    ck_assert(was_cached ? due == 0 : (due > 0) == (bytes > 0));
    for (int i = 0; i < ROWS * 4; i++)
        x[i] = (float)(i % 7) - 3;
    int32_t rows = (int32_t)strtol(set + 2, NULL, 10);
    const void *in[2];
    for (int i = 0; i < crescent_port_count(model, CRESCENT_INPUT); i++) {
        crescent_port port;
        GOOD(context, crescent_port_at(model, CRESCENT_INPUT, i, &port));
        in[i] = strcmp(port.name, "x") ? (const void *)&rows : x;
    }
    GOOD(context, crescent_run(model, in, (void *[]){y}));
    GOOD(context, crescent_write_cache(model, &written));
    ck_assert(due ? written > due : written == 0);
    crescent_close(model);
    crescent_context_free(context);
    return was_cached;
}

/* Returns true if the results of a run differ from `y`.  Asserts that a run without cache, a run that
 * writes the cache and a run that reads it give the same bits. */
static bool onnx_differs(const char *set, const float *y)
{
    float off[TABLE] = {0}, first[TABLE] = {0}, second[TABLE] = {0};
    ck_assert(!onnx_was_cached(set, 0, false, off));
    ck_assert(!onnx_was_cached(set, PLENTY, false, first));
    ck_assert(onnx_was_cached(set, PLENTY, false, second));
    ck_assert_mem_eq(off, first, sizeof off);
    ck_assert_mem_eq(off, second, sizeof off);
    return memcmp(off, y, sizeof off) != 0;
}

/* Overwrites bytes of a file in the folder, and restores its times. */
static void replace_bytes(const char *name, const void *old, const void *new, size_t n)
{
    unsigned char all[sizeof(struct message)];
    char path[128];
    struct stat status;
    size_t at = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    usleep(20000); /* waits for a tick of the file system's clock */
    int fd = open(path, O_RDWR);
    ck_assert(fd >= 0 && fstat(fd, &status) == 0);
    size_t size = (size_t)status.st_size;
    ck_assert(pread(fd, all, sizeof all, 0) == status.st_size);
    while (at + n <= size && memcmp(all + at, old, n) != 0)
        at++;
    ck_assert(at + n <= size && pwrite(fd, new, n, (off_t)at) == (ssize_t)n);
    ck_assert(futimens(fd, (struct timespec[]){status.st_atim, status.st_mtim}) == 0);
    close(fd);
}

/* A change of any initializer makes the cached weights invalid, and results use the new elements.  Import
 * reads it from the file, transposes it, reads it twice, finds it in another file, or folds it. */
START_TEST(sees_other_initializers)
{
    struct contents c = some_contents(), new = c;
    float y[TABLE] = {0};
    write_onnx(&c, "far.bin");
    ck_assert(onnx_differs("n=40", y));
    ck_assert(onnx_was_cached("n=40", PLENTY, false, y));
    new.layer[5] += 1, new.bias[1] += 1, new.square[2] += 1, new.far[2] += 1, new.table[70] += 5;
    switch (_i) {
    case 0:
        replace_bytes("m.onnx", c.layer, new.layer, sizeof c.layer);
        break;
    case 1:
        replace_bytes("m.onnx", c.bias, new.bias, sizeof c.bias);
        break;
    case 2:
        replace_bytes("m.onnx", c.square, new.square, sizeof c.square);
        break;
    case 3:
        replace_bytes("m.onnx", c.table, new.table, sizeof c.table);
        break;
    default:
        replace_bytes("far.bin", c.far, new.far, sizeof c.far);
    }
    ck_assert(onnx_differs("n=40", y));
}
END_TEST

/* Cached weights are not used for a data file at another path, even with the same bytes, nor for a
 * model that refers to another data file. */
START_TEST(sees_other_external_data)
{
    char from[128], to[128];
    struct contents c = some_contents();
    float y[TABLE] = {0};
    write_onnx(&c, "far.bin");
    ck_assert(onnx_differs("n=40", y));
    ck_assert(onnx_was_cached("n=40", PLENTY, false, y));
    snprintf(from, sizeof from, "%s/new.bin", folder);
    snprintf(to, sizeof to, "%s/far.bin", folder);
    write_file("new.bin", c.far, sizeof c.far);
    ck_assert_int_eq(rename(from, to), 0);
    ck_assert(!onnx_differs("n=40", y)); /* the file is read again although its bytes are the same */
    c.far[0] = 7;
    write_file("other.bin", c.far, sizeof c.far);
    replace_bytes("m.onnx", "far.bin", "one.bin", strlen("far.bin"));
    snprintf(from, sizeof from, "%s/other.bin", folder);
    snprintf(to, sizeof to, "%s/one.bin", folder);
    ck_assert_int_eq(rename(from, to), 0);
    ck_assert(onnx_differs("n=40", y));
}
END_TEST

/* Each size that changes the result of constant folding has its own cached file; a length has that
 * of its bound. */
START_TEST(sees_other_sizes)
{
    struct contents c = some_contents();
    char path[400];
    float y[TABLE] = {0}, z[TABLE] = {0};
    write_onnx(&c, "far.bin");
    ck_assert(onnx_differs("n=40", y));
    ck_assert(onnx_differs("n=39", y));
    ck_assert(onnx_differs("n=30", y));
    ck_assert_int_eq(count_files(path), 3);
    ck_assert(onnx_was_cached("n=40", PLENTY, false, y));
    bool was_cached = onnx_was_cached("n=40", PLENTY, true, z);
    ck_assert_mem_eq(y, z, sizeof y);
    ck_assert_int_eq(count_files(path), was_cached ? 3 : 4);
    memset(z, 0, sizeof z);
    ck_assert(onnx_was_cached("n=40", PLENTY, true, z));
    ck_assert_mem_eq(y, z, sizeof y);
}
END_TEST

/* The cache key includes results of constant folding: here the rows of a table from k on. */
START_TEST(sees_other_numbers)
{
    struct contents c = some_contents();
    struct message graph = {.n = 0}, to_float = {.n = 0};
    static const int64_t zero[] = {0}, rows[] = {ROWS - 10};
    char path[400];
    float y[TABLE] = {0};
    put_integer_attribute(&to_float, "to", FLOAT);
    put_node(&graph, "Add", "k rows", "end", NULL);
    put_node(&graph, "Cast", "table", "floats", &to_float);
    put_node(&graph, "Slice", "floats k end zero", "part", NULL);
    put_node(&graph, "Add", "x part", "y", NULL);
    put_tensor(&graph, "table", INT64, 2, (int64_t[]){ROWS, COLS}, c.table, sizeof c.table);
    put_tensor(&graph, "zero", INT64, 1, (int64_t[]){1}, zero, sizeof zero);
    put_tensor(&graph, "rows", INT64, 1, (int64_t[]){1}, rows, sizeof rows);
    put_value(&graph, 11, "k", INT64, 1, (int64_t[]){1});
    put_value(&graph, 11, "x", FLOAT, 2, (int64_t[]){ROWS - 10, COLS});
    put_value(&graph, 12, "y", FLOAT, 2, (int64_t[]){ROWS - 10, COLS});
    struct message model = model_of(&graph, 17);
    write_file("m.onnx", model.at, model.n);
    ck_assert(onnx_differs("k=3", y));
    ck_assert(onnx_was_cached("k=3", PLENTY, false, y));
    ck_assert(onnx_differs("k=4", y));
    ck_assert_int_eq(count_files(path), 2);
}
END_TEST

/* Sizes that no weight depends on share a cached file. */
START_TEST(shares_a_file_between_sizes)
{
    struct message graph = {.n = 0};
    struct contents c = some_contents();
    char path[400];
    float y[TABLE] = {0};
    put_node(&graph, "MatMul", "x square", "y", NULL);
    put_tensor(&graph, "square", FLOAT, 2, (int64_t[]){4, COLS}, c.layer, sizeof c.layer);
    put_value(&graph, 11, "x", FLOAT, 2, (int64_t[]){SYMBOL('n'), 4});
    put_value(&graph, 12, "y", FLOAT, 2, (int64_t[]){SYMBOL('n'), COLS});
    struct message model = model_of(&graph, 17);
    write_file("m.onnx", model.at, model.n);
    ck_assert(!onnx_was_cached("n=40", PLENTY, false, y));
    ck_assert(onnx_was_cached("n=7", PLENTY, false, y));
    ck_assert_int_eq(count_files(path), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kept weights");
    TCase *t = tcase_create("kept weights");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, gives_the_same_bits, 0, N_FORMATS);
    tcase_add_test(t, keeps_what_is_set_apart);
    tcase_add_test(t, sees_other_weights);
    tcase_add_test(t, passes_over_damaged_files);
    tcase_add_test(t, keeps_nothing_unasked);
    tcase_add_test(t, keeps_nothing_that_changed);
    tcase_add_test(t, removes_the_oldest);
    tcase_add_test(t, does_without_a_folder);
    tcase_add_test(t, writes_alone);
    tcase_add_loop_test(t, sees_other_initializers, 0, 5);
    tcase_add_test(t, sees_other_external_data);
    tcase_add_test(t, sees_other_sizes);
    tcase_add_test(t, sees_other_numbers);
    tcase_add_test(t, shares_a_file_between_sizes);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
