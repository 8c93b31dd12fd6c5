/*
 * test_tensor_files.c - safetensors and .npy files, read and written by the library and by the main
 * of a standalone program.
 */
#include "compiler/files/npy.h"
#include "compiler/files/safetensors.h"
#include "compiler/files/writer.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * The main of the sample program writes its messages to this file.  It exits on failure, so each
 * call of it is made in a child process, by TRY.
 */
static FILE *messages;

static _Noreturn void leave(int status)
{
    fflush(messages);
    _exit(status);
}

#undef stderr
#define stderr messages
#define main sample_main
#define exit(status) leave(status)
#include "tests/main_sample.c"
#undef main
#undef stderr
#undef exit

/* ---- whole files ---- */

static int write_npy(const char *path, enum cr_npy_type type, int rank, const int64_t *shape,
                     const void *data, char *error, size_t size)
{
    struct cr_writer writer;

    if (cr_writer_open(&writer, path, error, size) != 0)
        return -1;
    cr_npy_put(&writer, type, rank, shape, data);
    return cr_writer_commit(&writer, error, size);
}

static int write_safetensors(const char *path, const struct cr_st_tensor *tensors, int n_tensors,
                             const struct cr_st_metadata *metadata, int n_metadata, char *error,
                             size_t size)
{
    struct cr_writer writer;

    if (cr_writer_open(&writer, path, error, size) != 0)
        return -1;
    if (cr_safetensors_put(&writer, tensors, n_tensors, metadata, n_metadata, error, size) != 0) {
        cr_writer_discard(&writer);
        return -1;
    }
    return cr_writer_commit(&writer, error, size);
}

static int is_float(enum cr_st_type type)
{
    return type == CR_ST_F32 || type == CR_ST_F16 || type == CR_ST_BF16 || type == CR_ST_F64;
}

/* Forks: returns 1 in the child, and 0 in the parent after the child has exited, with its status in
 * child_status. */
static int child_status;

static int is_child(void)
{
    pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0)
        return 1;
    ck_assert_int_eq(waitpid(child, &child_status, 0), child);
    ck_assert_msg(WIFEXITED(child_status), "ended by a signal");
    child_status = WEXITSTATUS(child_status);
    return 0;
}

/* Makes a call in a child process: 0 if it returns, -1 if it exits with status 2. */
#define TRY(call) (is_child() ? ((call), leave(0), 0) : child_status == 2 ? -1 : child_status)

static char folder[64], error[512];

/* ---- files to read ---- */

/* Returns a path in the test's folder, which is valid until the eighth call after this one. */
static const char *in_folder(const char *name)
{
    static char paths[8][400];
    static int next;
    char *path = paths[next++ % 8];

    snprintf(path, sizeof *paths, "%s/%s", folder, name);
    return path;
}

static void make_folder(void)
{
    strcpy(folder, "/tmp/test_tensor_files.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    messages = tmpfile();
    ck_assert_ptr_nonnull(messages);
}

static int count_files(void)
{
    DIR *dir = opendir(folder);
    int n = 0;

    ck_assert_ptr_nonnull(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2; /* . and .. */
}

static void remove_folder(void)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    ck_assert_ptr_nonnull(dir);
    while ((entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove(in_folder(entry->d_name));
    closedir(dir);
    ck_assert_int_eq(rmdir(folder), 0);
    fclose(messages);
}

/* Returns the output of the sample program since the last call. */
static const char *last_message(void)
{
    static char text[4096];
    ssize_t n = pread(fileno(messages), text, sizeof text - 1, 0);

    ck_assert_int_ge(n, 0);
    text[n] = '\0';
    ck_assert_int_eq(ftruncate(fileno(messages), 0), 0);
    rewind(messages);
    return text;
}

static const char *put_file(const char *name, const void *bytes, size_t size)
{
    const char *path = in_folder(name);
    FILE *file = fopen(path, "wb");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

/* Returns the bytes of a file; the caller frees them. */
static unsigned char *get_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    unsigned char *bytes = malloc(1 << 20);

    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(bytes);
    *size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

/* Writes a safetensors file: a header and data_size bytes of data (1.0f repeated). */
static const char *put_safetensors(const char *header, size_t data_size)
{
    static const unsigned char one[4] = {0, 0, 0x80, 0x3f};
    unsigned char bytes[4096];
    uint64_t length = strlen(header);
    size_t i;

    ck_assert_uint_le(8 + length + data_size, sizeof bytes);
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, header, length);
    for (i = 0; i < data_size; i++)
        bytes[8 + length + i] = one[i % 4];
    return put_file("made.safetensors", bytes, 8 + length + data_size);
}

/* Writes a file of .npy version 1.0; the header may contain NULs. */
static const char *put_npy(const char *header, size_t length, size_t data_size)
{
    unsigned char bytes[4096] = "\223NUMPY\001\000";

    ck_assert_uint_le(10 + length + data_size, sizeof bytes);
    bytes[8] = (unsigned char)(length & 255);
    bytes[9] = (unsigned char)(length >> 8);
    memcpy(bytes + 10, header, length);
    memset(bytes + 10 + length, 0, data_size);
    return put_file("made.npy", bytes, 10 + length + data_size);
}

/* Asserts that a message is one line that begins with the path and contains `fragment`. */
static void check_message(const char *text, const char *path, const char *fragment)
{
    ck_assert_msg(strncmp(text, path, strlen(path)) == 0, "'%s' does not name %s", text, path);
    ck_assert_msg(strstr(text, fragment) != NULL, "'%s' lacks '%s'", text, fragment);
    ck_assert_msg(!strchr(text, '\n') || strchr(text, '\n')[1] == '\0', "lines: '%s'", text);
    for (; *text; text++)
        ck_assert((unsigned char)*text >= 0x20 || *text == '\n');
}

/* Reads every tensor of an open file, which must lie inside the mapping; reading types other than
 * floats must fail. */
static void read_everything(const struct cr_safetensors *file)
{
    const unsigned char *begin = file->mapping.bytes, *end = begin + file->mapping.size;
    int i;

    for (i = 0; i < file->n_tensors; i++) {
        const struct cr_st_tensor *t = &file->tensors[i];
        const unsigned char *data = t->data;
        float *out = malloc((size_t)t->elements * 4 + 1);
        int status;

        ck_assert_ptr_nonnull(out);
        ck_assert(data >= begin && data <= end && t->bytes <= (size_t)(end - data));
        ck_assert_ptr_eq(cr_safetensors_find(file, t->name), t);
        status = cr_safetensors_read(file, t, out, error, sizeof error);
        ck_assert_int_eq(status, is_float(t->type) ? 0 : -1);
        free(out);
    }
}

static int accepts_weights(const char *path)
{
    struct cr_safetensors file;

    if (cr_safetensors_open(&file, path, error, sizeof error) != 0) {
        check_message(error, path, ": ");
        return 0;
    }
    read_everything(&file);
    cr_safetensors_close(&file);
    return 1;
}

/* ---- safetensors: files that must be refused, and the reason ---- */

#define ENTRY(fields) "{\"a\":{" fields "}}"
#define A(dtype, shape, offsets)                                                                   \
    ENTRY("\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets)
#define AB(a, b)                                                                                   \
    "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":" a "},"                             \
    "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":" b "}}"

static const struct {
    const char *header;
    size_t data;
    const char *message;
} bad_headers[] = {
    {"", 0, "header"},
    {" ", 0, "expected '{'"},
    {" {}", 0, "expected '{'"},
    {"\xef\xbb\xbf{}", 0, "expected '{'"},
    {"[]", 0, "expected '{'"},
    {"12", 0, "expected '{'"},
    {"{}{}", 0, "JSON"},
    {"{}x", 0, "JSON"},
    {"{", 0, "JSON"},
    {"{\"a", 0, "JSON"},
    {"{//\n}", 0, "JSON"},
    {"{'a':1}", 0, "JSON"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},}", 8, "JSON"},
    {"{\"\\q\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "JSON"},
    {"{\"\\u0000\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "JSON"},
    {"{\"a\nb\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "JSON"},
    {"{\"a\":null}", 0, "object"},
    {"{\"a\":[]}", 0, "object"},
    {"{\"a\":{}}", 0, "dtype"},
    {ENTRY("\"shape\":[2],\"data_offsets\":[0,8]"), 8, "dtype"},
    {ENTRY("\"dtype\":\"F32\",\"data_offsets\":[0,8]"), 8, "shape"},
    {ENTRY("\"dtype\":\"F32\",\"shape\":[2]"), 8, "data_offsets"},
    {ENTRY("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"x\":1"), 8, "fields"},
    {ENTRY("\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]"), 8, "JSON"},
    {A("\"F33\"", "[2]", "[0,8]"), 8, "dtype 'F33'"},
    {A("\"f32\"", "[2]", "[0,8]"), 8, "dtype"},
    {A("3", "[2]", "[0,8]"), 8, "dtype"},
    {A("\"F4\"", "[3]", "[0,2]"), 2, "whole number of bytes"},
    {A("\"F6_E2M3\"", "[3]", "[0,3]"), 3, "whole number of bytes"},
    {A("\"F32\"", "null", "[0,8]"), 8, "shape"},
    {A("\"F32\"", "2", "[0,8]"), 8, "shape"},
    {A("\"F32\"", "[-2,-1]", "[0,8]"), 8, "dimension 0"},
    {A("\"F32\"", "[2,1.0]", "[0,8]"), 8, "dimension 1"},
    {A("\"F32\"", "[[2]]", "[0,8]"), 8, "dimension 0"},
    {A("\"F32\"", "[\"2\"]", "[0,8]"), 8, "dimension 0"},
    {A("\"F32\"", "[2,]", "[0,8]"), 8, "JSON"},
    {A("\"F32\"", "[02]", "[0,8]"), 8, "JSON"},
    {A("\"F32\"", "[2]]", "[0,8]"), 8, "JSON"},
    {A("\"F32\"", "[4611686018427387904]", "[0,0]"), 0, "counted"},
    {A("\"F32\"", "[4294967296,4294967296]", "[0,0]"), 0, "counted"},
    {A("\"F32\"", "[4294967296,4294967296,0]", "[0,0]"), 0, "counted"},
    {A("\"F32\"", "[4294967296]", "[0,0]"), 0, "expected 17179869184"},
    {A("\"F32\"", "[18446744073709551617]", "[0,4]"), 4, "JSON"},
    {A("\"F32\"", "[2]", "[0,7]"), 8, "7 bytes, expected 8"},
    {A("\"F32\"", "[2]", "[8,0]"), 8, "[8, 0]"},
    {A("\"F32\"", "[2]", "[-8,0]"), 8, "[-8, 0]"},
    {A("\"F32\"", "[2]", "[0,9]"), 8, "9 bytes, expected 8"},
    {A("\"F32\"", "[1073741824]", "[0,4294967296]"), 12, "cut short"},
    {A("\"F32\"", "[2]", "[0,9007199254740993]"), 8, "bytes, expected 8"},
    {A("\"F32\"", "[2]", "[18446744073709551608,0]"), 8, "JSON"},
    {A("\"F32\"", "[2]", "[0,8.5]"), 8, "integers"},
    {A("\"F32\"", "[2]", "[0,8.0]"), 8, "integers"},
    {A("\"F32\"", "[2]", "[0,8e0]"), 8, "integers"},
    {A("\"F32\"", "[2]", "[\"0\",\"8\"]"), 8, "integers"},
    {A("\"F32\"", "[2]", "[8]"), 8, "integers"},
    {A("\"F32\"", "[2]", "[0,8,8]"), 8, "integers"},
    {A("\"F32\"", "[2]", "{}"), 8, "integers"},
    {A("\"F32\"", "[2]", "[1,9]"), 9, "hole"},
    {A("\"F32\"", "[2]", "[0,8]"), 9, "1 bytes after the last"},
    {"{}", 1, "1 bytes after the last"},
    {AB("[0,8]", "[4,12]"), 12, "overlap"},
    {AB("[0,8]", "[0,8]"), 8, "overlap"},
    {AB("[0,8]", "[12,20]"), 20, "hole"},
    {AB("[8,16]", "[0,8]") "x", 16, "JSON"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
     "\"a\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
     8, "twice"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
     "\"\\u0061\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
     8, "twice"},
    {"{\"__metadata__\":[]}", 0, "__metadata__"},
    {"{\"__metadata__\":{\"n\":1}}", 0, "'n'"},
    {"{\"__metadata__\":{\"n\":{}}}", 0, "'n'"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "twice"},
    {"{\"__metadata__\":{\"a\":\"b\",}}", 0, "JSON"},
};

START_TEST(refuses_header)
{
    const char *path = put_safetensors(bad_headers[_i].header, bad_headers[_i].data);

    ck_assert_msg(!accepts_weights(path), "%s", bad_headers[_i].header);
    check_message(error, path, bad_headers[_i].message);
}
END_TEST

static const char *const bad_utf8[] = {"\xc0\xaf", "\xed\xa0\x80",     "\xff",
                                       "\xe2\x82", "\xf4\x90\x80\x80", "\x80"};

START_TEST(refuses_utf8)
{
    char header[200];

    snprintf(header, sizeof header,
             "{\"%s\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", bad_utf8[_i]);
    ck_assert(!accepts_weights(put_safetensors(header, 8)));
}
END_TEST

/* Lengths of the header that are impossible in a file of 24 bytes. */
static const uint64_t bad_lengths[] = {0,
                                       1,
                                       17,
                                       24,
                                       100000001,
                                       UINT64_C(1) << 32,
                                       (UINT64_C(1) << 32) + 2,
                                       UINT64_C(1) << 40,
                                       UINT64_C(1) << 63,
                                       UINT64_MAX - 7,
                                       UINT64_MAX};

START_TEST(refuses_length)
{
    unsigned char bytes[24] = "        {}              ";
    const char *path;

    memcpy(bytes, &bad_lengths[_i], 8);
    path = put_file("length.safetensors", bytes, sizeof bytes);
    ck_assert(!accepts_weights(path));
    check_message(error, path, bad_lengths[_i] <= 16          ? "header"
                               : bad_lengths[_i] <= 100000000 ? "is cut short: found 24 bytes, expected "
                                                              : "header length");
}
END_TEST

/* A header larger than the limit is refused even if the file (sparse) is as large. */
START_TEST(refuses_huge_header)
{
    uint64_t length = 100000001;
    const char *path = put_file("huge.safetensors", &length, 8);

    ck_assert_int_eq(truncate(path, 8 + (long)length), 0);
    ck_assert(!accepts_weights(path));
    check_message(error, path, "at most 100000000");
}
END_TEST

/* Nested so deep that a parser that recurses without a limit would run out of stack. */
START_TEST(refuses_deep_nesting)
{
    static const char *const openings[] = {"[", "{\"a\":"};
    size_t width = strlen(openings[_i]), n = 200000, i;
    char *bytes = malloc(8 + 5 + n * width);
    uint64_t length = 5 + n * width;
    const char *path;

    ck_assert_ptr_nonnull(bytes);
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, "{\"a\":", 5);
    for (i = 0; i < n; i++)
        memcpy(bytes + 13 + i * width, openings[_i], width);
    path = put_file("deep.safetensors", bytes, 8 + length);
    free(bytes);
    ck_assert(!accepts_weights(path));
}
END_TEST

/* A header with too many values is refused: parsed, they would take fifty times its size in memory.
 * A string of the same bytes is accepted. */
START_TEST(limits_the_number_of_values)
{
    static const char *const heads[] = {"{\"a\":[", "{\"__metadata__\":{\"a\":\"\\\""};
    static const char *const tails[] = {"1]}", "\"}}"};
    size_t n = 2000001, head = strlen(heads[_i]), i;
    uint64_t length = head + 2 * n + 3;
    char *bytes = malloc(8 + length);
    const char *path;

    ck_assert_ptr_nonnull(bytes);
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, heads[_i], head);
    for (i = 0; i < n; i++)
        memcpy(bytes + 8 + head + 2 * i, "1,", 2);
    memcpy(bytes + 8 + length - 3, tails[_i], 3);
    path = put_file("values.safetensors", bytes, 8 + length);
    free(bytes);
    ck_assert_int_eq(accepts_weights(path), _i);
    if (_i == 0)
        check_message(error, path, "more than 2000000 values");
}
END_TEST

/* A file that is cut off anywhere, or has bytes behind its end, is refused.  If its header is
 * complete, the message has the expected size. */
START_TEST(refuses_any_other_size)
{
    size_t size, n;
    char message[100];
    unsigned char *bytes = get_file(put_safetensors(AB("[0,8]", "[8,16]"), 16), &size);

    for (n = 0; n <= size + 1; n++) {
        unsigned char copy[4096] = {0};
        const char *path;
        memcpy(copy, bytes, n < size ? n : size);
        path = put_file("cut.safetensors", copy, n);
        ck_assert_int_eq(accepts_weights(path), n == size);
        if (n >= 8 && n < size) {
            int whole_header = n >= size - 16;
            snprintf(message, sizeof message, "is cut short: found %zu bytes, expected %zu%s", n,
                     whole_header ? size : size - 16, whole_header ? "" : " for the header alone");
            check_message(error, path, message);
        }
    }
    free(bytes);
}
END_TEST

static const struct {
    const char *bytes, *message;
} other_formats[] = {
    {"GGUF\003\0\0\0\0\0\0\0", "GGUF"},
    {"PK\003\004\024\0\0\0\0\0\0\0", "zip"},
    {"\223NUMPY\001\0\166\0{'de", ".npy"},
    {"version https://git-lfs.github.com/spec/v1\n", "git-lfs"},
};

START_TEST(names_other_formats)
{
    const char *path = put_file("other.safetensors", other_formats[_i].bytes, 12);

    if (_i == 3)
        path = put_file("other.safetensors", other_formats[_i].bytes, 40);
    ck_assert(!accepts_weights(path));
    check_message(error, path, other_formats[_i].message);
}
END_TEST

/* Names that would break a message, a terminal or a format string. */
static const char *const rude_names[] = {"%s%n%p", "\\n\\u001b[2J",    "\\u202e",
                                         "\\\"",   "../../etc/passwd", ""};

START_TEST(escapes_names)
{
    char header[400];

    snprintf(header, sizeof header,
             "{\"%s\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", rude_names[_i]);
    ck_assert(!accepts_weights(put_safetensors(header, 8)));
}
END_TEST

START_TEST(shortens_names)
{
    char header[3000];
    const char *path;

    snprintf(header, sizeof header,
             "{\"%0*d\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[]}}", 2500, 0);
    path = put_safetensors(header, 4);
    ck_assert(!accepts_weights(path));
    check_message(error, path, "000...'");
    ck_assert_uint_lt(strlen(error), 300);
}
END_TEST

/* ---- safetensors: files that must be read, and their contents ---- */

static const struct {
    const char *header;
    size_t data;
    int tensors;
} good_headers[] = {
    {"{}", 0, 0},
    {"{}   ", 0, 0},
    {"{\t\r\n}", 0, 0},
    {"{\"__metadata__\":{}}", 0, 0},
    {"{\"__metadata__\":{\"a\":\"b\",\"c\":\"\"}}  ", 0, 0},
    {A("\"F32\"", "[]", "[0,4]"), 4, 1},
    {A("\"F32\"", "[2,0,3]", "[0,0]"), 0, 1},
    {A("\"F32\"", "[0,9223372036854775807]", "[0,0]"), 0, 1},
    {A("\"F4\"", "[4]", "[0,2]"), 2, 1},
    {A("\"F6_E3M2\"", "[4]", "[0,3]"), 3, 1},
    {A("\"C64\"", "[1]", "[0,8]"), 8, 1},
    {A("\"BOOL\"", "[3]", "[0,3]"), 3, 1},
    {A("\"F32\"", "[1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, 1},
    {A(" \"F32\" ", " [ 1 , 2 ] ", " [ 0 , 8 ] "), 8, 1},
    {ENTRY("\"data_offsets\":[0,8],\"shape\":[2],\"dtype\":\"F32\""), 8, 1},
    {AB("[0,8]", "[8,16]"), 16, 2},
    {AB("[8,16]", "[0,8]"), 16, 2},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
     "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[3,7]},"
     "\"c\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[3,3]},"
     "\"d\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[7,15]}}",
     15, 4},
};

START_TEST(accepts_header)
{
    const char *path = put_safetensors(good_headers[_i].header, good_headers[_i].data);
    struct cr_safetensors file;

    ck_assert_msg(cr_safetensors_open(&file, path, error, sizeof error) == 0, "%s", error);
    ck_assert_int_eq(file.n_tensors, good_headers[_i].tensors);
    read_everything(&file);
    ck_assert_ptr_null(cr_safetensors_find(&file, "missing"));
    cr_safetensors_close(&file);
}
END_TEST

static const struct {
    const char *written, *read;
} long_names[] = {
    {"\\u0061\\n\\ud83d\\ude00", "a\n\xf0\x9f\x98\x80"},
    {"\xc3\xa9", "\xc3\xa9"},
    {"\\u00e9\\/\\\\\\\"\\b\\f\\r\\t", "\xc3\xa9/\\\"\b\f\r\t"},
    {"\\uD834\\uDD1E\\u07ff\\u0800\\uffff", "\xf0\x9d\x84\x9e\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"}};

/* The library and the main of a standalone program decode escapes in names. */
START_TEST(decodes_names)
{
    char header[200];
    struct cr_tensor param = {long_names[_i].read, 1, (const long[]){2}, 2, 0};
    struct cr_safetensors file;
    const char *path;

    snprintf(header, sizeof header,
             "{\"%s\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
             long_names[_i].written);
    path = put_safetensors(header, 8);
    ck_assert_msg(cr_safetensors_open(&file, path, error, sizeof error) == 0, "%s", error);
    ck_assert_ptr_nonnull(cr_safetensors_find(&file, long_names[_i].read));
    ck_assert_int_eq(TRY(cr_main_find(&file, &param)), 0);
    param.name = "none";
    ck_assert_int_eq(TRY(cr_main_find(&file, &param)), -1);
    check_message(last_message(), path, "'none' is not there");
    cr_safetensors_close(&file);
}
END_TEST

static const char *const bad_escapes[] = {
    "\\ud83d", "\\ud83dx",       "\\ud83d\\u0061", "\\ude00",       "\\u00", "\\u00g0",
    "\\",      "\\ud83d\\ud83d", "\\U0061",        "\\ud83d\\ude0", "\\x41", "\x7f\x01"};

START_TEST(refuses_escape)
{
    char header[200];

    snprintf(header, sizeof header,
             "{\"%s\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", bad_escapes[_i]);
    ck_assert(!accepts_weights(put_safetensors(header, 8)));
    check_message(error, in_folder("made.safetensors"), "JSON");
}
END_TEST

/* The value of a binary16 or bfloat16 from its definition. */
static double defined_value(unsigned bits, int exponent_bits, int fraction_bits)
{
    int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1;
    int exponent = (int)(bits >> fraction_bits) & top;
    int fraction = (int)bits & ((1 << fraction_bits) - 1);
    double sign = bits & 0x8000 ? -1 : 1;

    if (exponent == top)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - bias - fraction_bits);
    return sign * ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

/* Writes n numbers as one tensor and reads them back as floats. */
static void convert(enum cr_st_type type, const void *data, int64_t n, float *out)
{
    struct cr_st_tensor tensor = {.name = "t", .type = type, .rank = 1, .shape = &n, .data = data};
    const char *path = in_folder("numbers.safetensors");
    struct cr_safetensors file;

    ck_assert_int_eq(write_safetensors(path, &tensor, 1, NULL, 0, error, sizeof error), 0);
    ck_assert_int_eq(cr_safetensors_open(&file, path, error, sizeof error), 0);
    ck_assert_int_eq(cr_safetensors_read(&file, file.tensors, out, error, sizeof error), 0);
    cr_safetensors_close(&file);
}

static void check_float(float got, double expected)
{
    if (isnan(expected))
        ck_assert(isnan(got));
    else
        ck_assert(got == expected && !signbit(got) == !signbit(expected));
}

/* All 65536 numbers of each 16-bit type are converted: zeros, denormals, infinities and NaNs
 * included. */
START_TEST(converts_halves)
{
    static const struct {
        enum cr_st_type type;
        int exponent, fraction;
    } formats[] = {{CR_ST_F16, 5, 10}, {CR_ST_BF16, 8, 7}};
    static uint16_t bits[65536];
    static float floats[65536];
    int i;

    for (i = 0; i < 65536; i++)
        bits[i] = (uint16_t)i;
    convert(formats[_i].type, bits, 65536, floats);
    for (i = 0; i < 65536; i++) {
        double value = defined_value((unsigned)i, formats[_i].exponent, formats[_i].fraction);
        check_float(floats[i], value);
    }
}
END_TEST

START_TEST(converts_doubles)
{
    static const double doubles[] = {
        0.0,    -0.0,       1.0 / 3,          1e-40,      1e-60, 3.5e38,
        -1e300, 16777217.0, (double)INFINITY, (double)NAN};
    static const float floats[] = {0.0f,     -0.0f,     1.0f / 3,    1e-40f,   0.0f,
                                   INFINITY, -INFINITY, 16777216.0f, INFINITY, NAN};
    enum { N = sizeof doubles / sizeof *doubles };
    float out[N];
    int i;

    convert(CR_ST_F64, doubles, N, out);
    for (i = 0; i < N; i++) {
        check_float(out[i], (double)floats[i]);
    }
}
END_TEST

/* Floats keep their bits through a file, also signalling NaNs, at any offset. */
START_TEST(round_trip)
{
    static const uint32_t bits[6] = {0x7fa00001, 0xff800000, 1, 0x80000000, 0x3f800000, 0x7f7fffff};
    static const int64_t shapes[][3] = {{3, 1, 2}, {5, 0, 0}, {0, 7, 0}};
    static const struct cr_st_tensor tensors[] = {
        {"h.0.\"attn\"\n", CR_ST_F32, 3, shapes[0], 0, 0, bits},
        {"odd", CR_ST_U8, 1, shapes[1], 0, 0, bits},
        {"none", CR_ST_F32, 2, shapes[2], 0, 0, NULL},
        {"\xc3\xa9", CR_ST_F32, 3, shapes[0], 0, 0, bits},
        {"scalar", CR_ST_F32, 0, NULL, 0, 0, bits + 4},
    };
    static const struct cr_st_metadata metadata[] = {{"format", "pt"}, {"step", "12 \"\xc3\xa9\""}};
    const char *path = in_folder("round.safetensors");
    struct cr_safetensors file;
    float out[6];
    int i;

    ck_assert_int_eq(write_safetensors(path, tensors, 5, metadata, 2, error, sizeof error), 0);
    ck_assert_int_eq(count_files(), 1);
    ck_assert_int_eq(cr_safetensors_open(&file, path, error, sizeof error), 0);
    ck_assert_int_eq(file.n_tensors, 5);
    ck_assert_str_eq(cr_safetensors_metadata(&file, "step"), metadata[1].value);
    ck_assert_ptr_null(cr_safetensors_metadata(&file, "none"));
    for (i = 0; i < 5; i++) {
        const struct cr_st_tensor *t = cr_safetensors_find(&file, tensors[i].name);
        ck_assert_ptr_nonnull(t);
        ck_assert_int_eq(t->type, tensors[i].type);
        ck_assert_int_eq(t->rank, tensors[i].rank);
        if (t->rank > 0)
            ck_assert_mem_eq(t->shape, tensors[i].shape, (size_t)t->rank * sizeof *t->shape);
        if (t->type != CR_ST_F32)
            continue;
        ck_assert_int_eq(cr_safetensors_read(&file, t, out, error, sizeof error), 0);
        if (t->bytes > 0)
            ck_assert_mem_eq(out, tensors[i].data, t->bytes);
    }
    cr_safetensors_close(&file);
}
END_TEST

/* ---- writing that fails ---- */

static int write_one(const char *path, const char *name, int64_t n)
{
    static float data[1 << 16];
    struct cr_st_tensor tensor = {
        .name = name, .type = CR_ST_F32, .rank = 1, .shape = &n, .data = data};

    return write_safetensors(path, &tensor, 1, NULL, 0, error, sizeof error);
}

static const struct {
    const char *path, *message;
} bad_paths[] = {
    {"no/x", "No such file"}, {"pipe", "a pipe"},     {".", "folder"},
    {"file/x", "cannot be"},  {"file/", "cannot be"},
};

/* A special file is refused.  It is made by the test, since a faulty writer would replace it. */
START_TEST(refuses_path)
{
    static const float numbers[6];
    const char *path = in_folder(bad_paths[_i].path);
    int64_t n = 2;

    put_file("file", "", 0);
    ck_assert_int_eq(mkfifo(in_folder("pipe"), 0600), 0);
    ck_assert_int_eq(write_one(path, "a", 2), -1);
    check_message(error, path, bad_paths[_i].message);
    ck_assert_int_eq(write_npy(path, CR_NPY_F4, 1, &n, numbers, error, sizeof error), -1);
    check_message(error, path, bad_paths[_i].message);
    ck_assert_int_eq(TRY(cr_main_write_npy(path, &cr_main_outputs[0], numbers)), -1);
    check_message(last_message(), path, "");
    ck_assert(!accepts_weights(path));
}
END_TEST

/* Limits the size of files in this process; the test framework writes to files between tests. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* If the disk is full, the old file stays as it was, and no other file remains. */
START_TEST(full_disk_leaves_old_file)
{
    static const float numbers[4096];
    static const long shape[] = {4096};
    static const struct cr_tensor output = {"y", 1, shape, 4096, 0};
    const char *path = put_file("old", "old", 3);
    char npy_error[512];
    int64_t n = 4096;
    size_t size;
    unsigned char *bytes;
    int statuses[3];

    signal(SIGXFSZ, SIG_IGN);
    limit_files(1000);
    statuses[0] = write_one(path, "a", 4096);
    statuses[1] = write_npy(path, CR_NPY_F4, 1, &n, numbers, npy_error, sizeof npy_error);
    statuses[2] = TRY(cr_main_write_npy(path, &output, numbers));
    limit_files(RLIM_INFINITY);
    ck_assert(statuses[0] == -1 && statuses[1] == -1 && statuses[2] == -1);
    check_message(error, path, "File too large");
    check_message(npy_error, path, "File too large");
    check_message(last_message(), path, "File too large");
    ck_assert_int_eq(count_files(), 1);
    bytes = get_file(path, &size);
    ck_assert(size == 3 && memcmp(bytes, "old", 3) == 0);
    free(bytes);
}
END_TEST

/* A new file replaces the old one and keeps its mode; a link is followed. */
START_TEST(replaces_file)
{
    const char *path = put_file("old", "old", 3), *link = in_folder("link");
    struct stat status;

    ck_assert_int_eq(chmod(path, 0640), 0);
    ck_assert_int_eq(symlink("old", link), 0);
    ck_assert_int_eq(write_one(link, "a", 2), 0);
    ck_assert(accepts_weights(path));
    ck_assert_int_eq(count_files(), 2);
    ck_assert(lstat(link, &status) == 0 && S_ISLNK(status.st_mode));
    ck_assert(stat(path, &status) == 0 && (status.st_mode & 0777) == 0640);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(write_one(link, "a", 2), -1);
    check_message(error, link, "link to nothing");
}
END_TEST

START_TEST(removes_drafts)
{
    struct cr_writer writer;

    ck_assert_int_eq(cr_writer_open(&writer, in_folder("never"), error, sizeof error), 0);
    cr_writer_put(&writer, "abc", 3);
    cr_writer_discard(&writer);
    ck_assert_int_eq(count_files(), 0);
    cr_writer_discard(&writer);
}
END_TEST

/* Writes a file and kills the process just before the file gets its name. */
static void write_and_die(const char *path)
{
    struct cr_writer writer;

    if (cr_writer_open(&writer, path, error, sizeof error) == 0) {
        cr_writer_put(&writer, "abc", 3);
        cr_writer_finish(&writer, error, sizeof error);
        raise(SIGKILL);
    }
    _exit(1);
}

/* A killed writer leaves nothing, since its draft has no name.  With mode 0666 the draft has a name, and
 * the next writer removes it. */
START_TEST(killed_writer_leaves_nothing)
{
    static const mode_t masks[] = {022, 0};
    const char *path = in_folder("y");
    int i, status;
    pid_t child;

    for (i = 0; i < 2; i++) {
        umask(masks[i]);
        child = fork();
        if (child == 0)
            write_and_die(path);
        ck_assert(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
        ck_assert_int_eq(count_files(), i);
        ck_assert_int_eq(write_one(path, "a", 1), 0);
        ck_assert_int_eq(count_files(), 1);
        ck_assert_int_eq(unlink(path), 0);
    }
}
END_TEST

/* A writer keeps the drafts that other programs are writing, and removes abandoned drafts, but no files
 * whose names are only similar. */
START_TEST(removes_abandoned_drafts)
{
    struct cr_writer writer;
    const char *path = put_file(".crescent-0.tmp", "abc", 3);
    int lock = open(path, O_RDONLY);

    ck_assert_int_eq(flock(lock, LOCK_EX), 0);
    put_file(".crescent-1.tmp", "abc", 3);
    put_file(".crescent-x.tmp", "abc", 3);
    ck_assert_int_eq(mkdir(in_folder(".crescent-2.tmp"), 0700), 0);
    umask(0);
    ck_assert_int_eq(cr_writer_open(&writer, in_folder("y"), error, sizeof error), 0);
    ck_assert_int_eq(count_files(), 4);
    ck_assert_int_eq(write_one(in_folder("z"), "a", 1), 0);
    ck_assert_int_eq(count_files(), 5);
    ck_assert_int_eq(cr_writer_commit(&writer, error, sizeof error), 0);
    ck_assert_int_eq(write_one(in_folder("z"), "a", 1), 0);
    ck_assert_int_eq(count_files(), 5);
    close(lock);
    ck_assert_int_eq(write_one(in_folder("z"), "a", 1), 0);
    ck_assert_int_eq(count_files(), 4);
    ck_assert_int_eq(rmdir(in_folder(".crescent-2.tmp")), 0);
}
END_TEST

/* New files have mode 0666 less the umask, by each writer. */
START_TEST(follows_umask)
{
    static const mode_t masks[] = {022, 077, 002, 0, 027};
    static const long two = 2;
    static const struct cr_tensor tensor = {"t", 1, &two, 2, 0};
    static const float numbers[2] = {1, 2};
    struct stat status;
    static size_t i; /* a jump leaves it as it is */

    for (i = 0; i < sizeof masks / sizeof *masks; i++) {
        umask(masks[i]);
        ck_assert_int_eq(write_one(in_folder("a"), "a", 1), 0);
        ck_assert_int_eq(TRY(cr_main_write_npy(in_folder("b"), &tensor, numbers)), 0);
        ck_assert(stat(in_folder("a"), &status) == 0);
        ck_assert_int_eq(status.st_mode & 0777, 0666 & ~masks[i]);
        ck_assert(stat(in_folder("b"), &status) == 0);
        ck_assert_int_eq(status.st_mode & 0777, 0666 & ~masks[i]);
        ck_assert_int_eq(TRY(cr_main_write_npy(in_folder("b"), &tensor, numbers)), 0);
        ck_assert_int_eq(count_files(), 2);
        ck_assert_int_eq(unlink(in_folder("a")) | unlink(in_folder("b")), 0);
    }
}
END_TEST

/* A name that a header cannot contain is refused before the file is opened. */
START_TEST(refuses_names_to_write)
{
    static const int64_t one = 1, huge[] = {INT64_MAX, 2};
    static const float number = 1;
    static const struct cr_st_tensor twice[] = {{"a", CR_ST_F32, 1, &one, 0, 0, &number},
                                                {"a", CR_ST_F32, 1, &one, 0, 0, &number}};
    static const struct cr_st_tensor large = {"a", CR_ST_F32, 2, huge, 0, 0, &number};
    static const struct cr_st_metadata metadata[] = {{"k", "v"}, {"k", "w"}};
    const char *path = in_folder("never");

    ck_assert_int_eq(write_one(path, "__metadata__", 1), -1);
    ck_assert_int_eq(write_one(path, "\xff", 1), -1);
    check_message(error, path, "'\\xff'");
    ck_assert_int_eq(write_safetensors(path, twice, 2, NULL, 0, error, sizeof error), -1);
    check_message(error, path, "twice");
    ck_assert_int_eq(write_safetensors(path, &large, 1, NULL, 0, error, sizeof error), -1);
    check_message(error, path, "too large");
    ck_assert_int_eq(write_safetensors(path, twice, 1, metadata, 2, error, sizeof error), -1);
    check_message(error, path, "twice");
    ck_assert_int_eq(count_files(), 0);
}
END_TEST

/* ---- .npy ---- */

#define DICT(descr, fortran, shape)                                                                \
    "{'descr': " descr ", 'fortran_order': " fortran ", 'shape': " shape ", }\n"

static const struct {
    const char *header;
    size_t data;
    const char *message; /* null: must be accepted */
} npy_headers[] = {
    {DICT("'<f4'", "False", "(2, 4)"), 32, NULL},
    {DICT("'<f8'", "False", "(2, 4)"), 64, NULL},
    {"{'shape': (2, 4), 'descr': '<f4', 'fortran_order': False}", 32, NULL},
    {"{'shape':(2,4,),'descr':'<f4','fortran_order':False}   \n", 32, NULL},
    {DICT("'<f4'", "True", "(2, 4)"), 32, NULL},
    {DICT("'>f4'", "False", "(2, 4)"), 32, NULL},
    {DICT("'>f8'", "True", "(2, 4)"), 64, NULL},
    {DICT("'<f2'", "False", "(2, 4)"), 16, NULL},
    {DICT("'>f2'", "False", "(2, 4)"), 16, NULL},
    {DICT("'<f2'", "False", "(2, 4)"), 32, "32 bytes"},
    {DICT("'=f4'", "False", "(2, 4)"), 32, "'=f4'"},
    {DICT("'|b2'", "False", "(2, 4)"), 8, "'|b2', expected f2, f4, f8, i4, i8, i1, u1 or b1, as"},
    {DICT("'<c8'", "False", "(2, 4)"), 64, "'<c8'"},
    {DICT("'<f4x'", "False", "(2, 4)"), 32, "'<f4x'"},
    {DICT("''", "False", "(2, 4)"), 32, "dtype ''"},
    {DICT("'|V2147483647'", "False", "(2, 4)"), 32, "dtype"},
    {DICT("[('a', '<f4')]", "False", "(2, 4)"), 32, "expected"},
    {DICT("'<f\\x34'", "False", "(2, 4)"), 32, "expected"},
    {DICT("'<f4'", "0", "(2, 4)"), 32, "fortran_order"},
    {DICT("'<f4'", "Fals", "(2, 4)"), 32, "fortran_order"},
    {DICT("'<f4'", "False", "(-2, -4)"), 32, "dimension"},
    {DICT("'<f4'", "False", "(2, 4.0)"), 32, "expected ','"},
    {DICT("'<f4'", "False", "(2L, 4L)"), 32, "expected ','"},
    {DICT("'<f4'", "False", "(2 4)"), 32, "expected ','"},
    {DICT("'<f4'", "False", "(02, 4)"), 32, "dimension"},
    {DICT("'<f4'", "False", "(,)"), 32, "dimension"},
    {DICT("'<f4'", "False", "(2, , 4)"), 32, "dimension"},
    {DICT("'<f4'", "False", "[2, 4]"), 32, "expected '('"},
    {DICT("'<f4'", "False", "8"), 32, "expected '('"},
    {DICT("'<f4'", "False", "(8)"), 32, "tuple"},
    {DICT("'<f4'", "False", "(2, 4"), 32, "expected"},
    {DICT("'<f4'", "False", "(18446744073709551617,)"), 4, "2^63"},
    {DICT("'<f4'", "False", "(4294967296, 4294967296)"), 0, "2^63"},
    {DICT("'<f4'", "False", "(4611686018427387904,)"), 0, "2^63"},
    {DICT("'<f4'", "False", "(1073741824,)"), 0, "expected 4294967296"},
    {DICT("'<f4'", "False", "(2, 4)"), 31, "31 bytes"},
    {DICT("'<f4'", "False", "(2, 4)"), 33, "33 bytes"},
    {"{'descr': '<f4', 'fortran_order': False, }", 32, "missing"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), 'x': 1}", 32, "'x'"},
    {"{'descr': '<f8', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 4)}", 32, "once"},
    {"{'descr': '<f4' 'fortran_order': False, 'shape': (2, 4)}", 32, "expected ','"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4)", 32, "expected"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4)} x", 32, "after"},
    {"{}", 32, "missing"},
    {"('descr', '<f4')", 32, "expected '{'"},
    {"{'descr", 32, "expected"},
    {"", 0, "expected '{'"},
};

START_TEST(reads_npy_header)
{
    const char *path =
        put_npy(npy_headers[_i].header, strlen(npy_headers[_i].header), npy_headers[_i].data);
    struct cr_npy file;
    float out[8];
    int expected = npy_headers[_i].message ? -1 : 0;

    ck_assert_msg(cr_npy_open(&file, path, error, sizeof error) == expected, "%s",
                  npy_headers[_i].header);
    if (expected == 0) {
        ck_assert_int_eq(file.elements, 8);
        ck_assert_int_eq(cr_npy_read_i32(&file, (int32_t *)out, error, sizeof error), -1);
        ck_assert_int_eq(cr_npy_read_f32(&file, out, error, sizeof error), 0);
        cr_npy_close(&file);
    } else {
        check_message(error, path, npy_headers[_i].message);
    }
}
END_TEST

/* Shapes that no input of the sample has. */
static const struct {
    const char *shape, *fortran;
    int rank;
    size_t elements;
} npy_shapes[] = {
    {"()", "False", 0, 1},        {"(7,)", "False", 1, 7},
    {"(7,)", "True", 1, 7},       {"(0,)", "False", 1, 0},
    {"(0, 5, 2)", "False", 3, 0}, {"(9223372036854775807, 0)", "False", 2, 0},
    {"( 3 , )", "False", 1, 3},   {"(1,1,1,1,1,1,1,1,1,1)", "False", 10, 1},
};

START_TEST(reads_npy_shape)
{
    char header[256];
    struct cr_npy file;
    float out[8];

    snprintf(header, sizeof header, DICT("'<f4'", "%s", "%s"), npy_shapes[_i].fortran,
             npy_shapes[_i].shape);
    if (_i == 5) { /* more bytes than size_t can count, in a file without data */
        ck_assert_int_eq(
            cr_npy_open(&file, put_npy(header, strlen(header), 0), error, sizeof error), -1);
        return;
    }
    ck_assert_int_eq(cr_npy_open(&file,
                                 put_npy(header, strlen(header), npy_shapes[_i].elements * 4),
                                 error, sizeof error),
                     0);
    ck_assert_int_eq(file.rank, npy_shapes[_i].rank);
    ck_assert_int_eq(file.elements, (int64_t)npy_shapes[_i].elements);
    ck_assert_int_eq(cr_npy_read_f32(&file, out, error, sizeof error), 0);
    cr_npy_close(&file);
}
END_TEST

START_TEST(refuses_npy_nul)
{
    static const char header[] = DICT("'<f4\0'", "False", "(2, 4)");
    const char *path = put_npy(header, sizeof header - 1, 32);
    struct cr_npy file;

    ck_assert_int_eq(cr_npy_open(&file, path, error, sizeof error), -1);
    check_message(error, path, "\\x00");
}
END_TEST

/* A rank beyond the limit is refused, and is not written past the array of sizes. */
START_TEST(refuses_npy_rank)
{
    char header[400] = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
    struct cr_npy file;
    int i;

    for (i = 0; i <= CR_NPY_MAX_RANK; i++)
        strcat(header, "1,");
    strcat(header, ")}");
    ck_assert_int_eq(cr_npy_open(&file, put_npy(header, strlen(header), 4), error, sizeof error),
                     -1);
    check_message(error, in_folder("made.npy"), "dimensions");
}
END_TEST

/* Versions 1.0 to 3.0 are read, with their widths of the header's length; truncated headers and
 * unknown versions are refused. */
START_TEST(reads_npy_versions)
{
    static const char header[] = DICT("'<f4'", "False", "(2, 4)");
    size_t length = sizeof header - 1, size, n;
    unsigned char bytes[256] = "\223NUMPY";
    size_t prefix = _i == 1 ? 10 : 12;
    struct cr_npy file;

    bytes[6] = (unsigned char)_i;
    bytes[8] = (unsigned char)length;
    memcpy(bytes + prefix, header, length);
    size = prefix + length + 32;
    for (n = 0; n <= size; n++) {
        const char *path = put_file("version.npy", bytes, n);
        int expected = n == size && _i >= 1 && _i <= 3 ? 0 : -1;
        ck_assert_int_eq(cr_npy_open(&file, path, error, sizeof error), expected);
        if (expected == 0)
            cr_npy_close(&file);
    }
    bytes[11] = 0xff; /* a header length of 4 GB, in versions 2 and 3 */
    bytes[7] = _i == 1;
    ck_assert_int_eq(cr_npy_open(&file, put_file("version.npy", bytes, size), error, sizeof error),
                     -1);
}
END_TEST

static const struct {
    enum cr_npy_type type;
    int rank;
    int64_t shape[4];
    size_t length; /* the header with numpy.save's padding */
    const char *dict;
} npy_written[] = {
    /* clang-format off */
    {CR_NPY_F4, 0, {0}, 128, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }"},
    {CR_NPY_F4, 1, {3}, 128, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"},
    {CR_NPY_I4, 2, {2, 3}, 128, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }"},
    {CR_NPY_F4, 3, {0, 1234567890123, 1}, 128,
     "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 1234567890123, 1), }"},
    {CR_NPY_I4, 4, {1, 1, 0, 1234567890123456789}, 128,
     "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 1, 0, 1234567890123456789), }"},
    {CR_NPY_F4, 4, {1, 0, 100000000000000000, 100000000000000}, 128,
     "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 0, 100000000000000000, "
     "100000000000000), }"},
    {CR_NPY_F4, 4, {1, 0, 100000000000000000, 1000000000000000}, 192,
     "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 0, 100000000000000000, "
     "1000000000000000), }"},
    /* clang-format on */
};

/* The bytes are those of numpy.save: the dict, spaces, a newline, the elements. */
START_TEST(writes_npy)
{
    static const int32_t numbers[6] = {1, -2, 3, INT32_MIN, INT32_MAX, 0x3f800000};
    const char *path = in_folder("written.npy"), *dict = npy_written[_i].dict;
    size_t size, length = npy_written[_i].length, i;
    unsigned char *bytes;

    ck_assert_int_eq(write_npy(path, npy_written[_i].type, npy_written[_i].rank,
                               npy_written[_i].shape, numbers, error, sizeof error),
                     0);
    bytes = get_file(path, &size);
    ck_assert_uint_ge(size, length);
    ck_assert_mem_eq(bytes, "\223NUMPY\001\000", 8);
    ck_assert_uint_eq(bytes[8] + 256u * bytes[9], length - 10);
    ck_assert_mem_eq(bytes + 10, dict, strlen(dict));
    for (i = 10 + strlen(dict); i < length - 1; i++)
        ck_assert_int_eq(bytes[i], ' ');
    ck_assert_int_eq(bytes[length - 1], '\n');
    ck_assert_mem_eq(bytes + length, numbers, size - length);
    free(bytes);
}
END_TEST

/* The library reads the files that it writes, and the standalone main writes the same bytes. */
START_TEST(npy_round_trip)
{
    static const float numbers[6] = {1.5f, -0.0f, 1e-45f, INFINITY, 3e38f, 7};
    int64_t shape[2] = {2, 3};
    struct cr_npy file;
    size_t size, other_size;
    unsigned char *bytes, *other;
    float out[6];

    ck_assert_int_eq(
        write_npy(in_folder("a.npy"), CR_NPY_F4, 2, shape, numbers, error, sizeof error), 0);
    ck_assert_int_eq(cr_npy_open(&file, in_folder("a.npy"), error, sizeof error), 0);
    ck_assert_int_eq(cr_npy_read_f32(&file, out, error, sizeof error), 0);
    ck_assert_mem_eq(out, numbers, sizeof out);
    cr_npy_close(&file);
    cr_main_write_npy(in_folder("b.npy"), &cr_main_outputs[0], numbers);
    bytes = get_file(in_folder("a.npy"), &size);
    other = get_file(in_folder("b.npy"), &other_size);
    ck_assert_uint_eq(size, other_size);
    ck_assert_mem_eq(bytes, other, size);
    free(bytes);
    free(other);
    ck_assert_int_eq(count_files(), 2);
}
END_TEST

/* ---- .npy: byte orders, element types, orders of axes, versions ---- */

static const char *const float_types[] = {"<f2", ">f2", "<f4", ">f4", "<f8", ">f8"};

/* Writes a number in a NumPy type; returns its size in bytes. */
static size_t put_number(unsigned char *out, const char *type, double value)
{
    static const uint16_t halves[] = {0x3c00, 0x4000, 0x4200, 0x4400,
                                      0x4500, 0x4600, 0x4700, 0x4800}; /* 1 to 8 */
    float single = (float)value;
    int32_t integer = (int32_t)value;
    int64_t wide = (int64_t)value;
    size_t width = (size_t)(type[2] - '0'), i;
    const void *from = width == 1        ? (void *)&integer
                       : type[1] == 'i' ? (width == 4 ? (void *)&integer : (void *)&wide)
                       : width == 2   ? (const void *)&halves[integer - 1]
                       : width == 4   ? (void *)&single
                                      : (void *)&value;

    for (i = 0; i < width; i++)
        out[i] = ((const unsigned char *)from)[type[0] != '>' ? i : width - 1 - i];
    return width;
}

/* Writes the numbers 1, 2, ... of a shape, in C or Fortran order. */
static const char *put_layout(const char *type, int fortran, int version, int rank,
                              const int64_t *shape)
{
    unsigned char bytes[1024] = "\223NUMPY";
    char header[200];
    int64_t n = 1, i;
    int axis,
        length = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': (",
                          type, fortran ? "True" : "False");
    size_t at;

    for (axis = 0; axis < rank; n *= shape[axis++])
        length += sprintf(header + length, "%d, ", (int)shape[axis]);
    length += sprintf(header + length, "), }\n");
    bytes[6] = (unsigned char)version;
    bytes[8] = (unsigned char)length;
    at = version == 1 ? 10 : 12;
    memcpy(bytes + at, header, (size_t)length);
    at += (size_t)length;
    for (i = 0; i < n; i++) {
        int64_t place = 0, stride = n, rest = i; /* the number of the element in C order */
        for (axis = 0; axis < rank && fortran; axis++) {
            stride /= shape[axis];
            place += rest % shape[axis] * stride;
            rest /= shape[axis];
        }
        at += put_number(bytes + at, type, (double)(fortran ? place : i) + 1);
    }
    return put_file("layout.npy", bytes, at);
}

/* In a child process: asserts that the main reads the numbers 1, 2, ... */
static void read_with_main(const char *path, const struct cr_tensor *tensor)
{
    const void *data = cr_main_read_npy(path, tensor);

    for (int i = 0; i < tensor->elements; i++)
        if (tensor->is_i32 ? ((const int32_t *)data)[i] != i + 1
                           : ((const float *)data)[i] != (float)(i + 1))
            leave(3);
}

static const int64_t layout_shapes[][4] = {{2, 4}, {2, 2, 2}, {8}, {1, 4, 2}, {4, 1, 2, 1}};
static const int layout_ranks[] = {2, 3, 1, 3, 4};

START_TEST(reads_layouts)
{
    int rank = layout_ranks[_i], fortran, version;
    const int64_t *shape = layout_shapes[_i];
    long longs[4];
    size_t type;

    for (int axis = 0; axis < rank; axis++)
        longs[axis] = (long)shape[axis];
    for (type = 0; type < sizeof float_types / sizeof *float_types; type++)
        for (fortran = 0; fortran < 2; fortran++)
            for (version = 1; version <= 3; version++) {
                const char *path = put_layout(float_types[type], fortran, version, rank, shape);
                struct cr_tensor tensor = {"x", rank, longs, 8, 0};
                struct cr_npy file;
                float out[8];
                double doubles[8];
                ck_assert_msg(cr_npy_open(&file, path, error, sizeof error) == 0, "%s", error);
                ck_assert_int_eq(cr_npy_read_f32(&file, out, error, sizeof error), 0);
                cr_npy_read_f64(&file, doubles);
                for (int i = 0; i < 8; i++)
                    ck_assert(out[i] == (float)(i + 1) && doubles[i] == i + 1);
                cr_npy_close(&file);
                ck_assert_int_eq(TRY(read_with_main(path, &tensor)), 0);
            }
}
END_TEST

START_TEST(reads_layouts_of_integers)
{
    static const char *const types[] = {"<i4", ">i4", "<i8", ">i8", "|i1", "|u1", "|b1"};
    int fortran;
    size_t type;

    for (type = 0; type < sizeof types / sizeof *types; type++)
        for (fortran = 0; fortran < 2; fortran++) {
            const char *path = put_layout(types[type], fortran, 1, 2, layout_shapes[0]);
            struct cr_tensor tensor = {"i", 2, (const long[]){2, 4}, 8, 1};
            struct cr_npy file;
            int32_t out[8];
            double doubles[8];
            ck_assert_msg(cr_npy_open(&file, path, error, sizeof error) == 0, "%s", error);
            ck_assert_int_eq(cr_npy_read_i32(&file, out, error, sizeof error), 0);
            cr_npy_read_f64(&file, doubles);
            for (int i = 0; i < 8; i++)
                ck_assert(out[i] == i + 1 && doubles[i] == i + 1);
            cr_npy_close(&file);
            ck_assert_int_eq(TRY(read_with_main(path, &tensor)), 0);
        }
}
END_TEST

/* int64 is converted to i32 if it is in range; the message names the first number that is not. */
START_TEST(narrows_integers)
{
    static const int64_t values[][2] = {
        {INT32_MIN, INT32_MAX}, {0, INT64_C(1) + INT32_MAX}, {INT64_MIN, 0}};
    static const char header[] = DICT("'<i8'", "False", "(2,)");
    unsigned char bytes[256] = "\223NUMPY\001\000";
    const char *path;
    struct cr_npy file;
    int32_t out[2];
    int expected = _i == 0 ? 0 : -1;

    bytes[8] = sizeof header - 1;
    memcpy(bytes + 10, header, sizeof header - 1);
    memcpy(bytes + 10 + sizeof header - 1, values[_i], 16);
    path = put_file("ids.npy", bytes, 10 + sizeof header - 1 + 16);
    ck_assert_int_eq(cr_npy_open(&file, path, error, sizeof error), 0);
    ck_assert_int_eq(cr_npy_read_i32(&file, out, error, sizeof error), expected);
    if (expected == 0) {
        ck_assert(out[0] == INT32_MIN && out[1] == INT32_MAX);
    } else {
        check_message(error, path, _i == 1 ? "element 1" : "element 0");
    }
    ck_assert_int_eq(cr_npy_read_f32(&file, (float *)out, error, sizeof error), -1);
    cr_npy_close(&file);
}
END_TEST

/* ---- the main of a standalone program, by its command line ---- */

/* Writes files for the sample, whose y and z are known.  A surplus tensor only gives a note. */
static void put_sample(void)
{
    static const float w[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}, b[3] = {10, 20, 30};
    static const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const int32_t id[2] = {3, 4}, negative[2] = {3, -1};
    static const int64_t shapes[][2] = {{4, 3}, {3, 0}, {2, 4}, {2, 0}};
    static const struct cr_st_tensor tensors[] = {
        {"linear.weight", CR_ST_F32, 2, shapes[0], 0, 0, w},
        {"linear.bias", CR_ST_F32, 1, shapes[1], 0, 0, b},
        {"more", CR_ST_F32, 1, shapes[1], 0, 0, b},
        {"linear.bias", CR_ST_I32, 1, shapes[1], 0, 0, b},
        {"linear.bias", CR_ST_F32, 2, shapes[0], 0, 0, w},
    };
    const struct cr_st_tensor integers[] = {tensors[0], tensors[3]};
    const struct cr_st_tensor square[] = {tensors[0], tensors[4]};
    int status = mkfifo(in_folder("pipe"), 0600);

    status |= write_safetensors(in_folder("w"), tensors, 2, NULL, 0, error, sizeof error);
    status |= write_safetensors(in_folder("more"), tensors, 3, NULL, 0, error, sizeof error);
    status |= write_safetensors(in_folder("less"), tensors, 1, NULL, 0, error, sizeof error);
    status |= write_safetensors(in_folder("int"), integers, 2, NULL, 0, error, sizeof error);
    status |= write_safetensors(in_folder("square"), square, 2, NULL, 0, error, sizeof error);
    status |= write_npy(in_folder("x"), CR_NPY_F4, 2, shapes[2], x, error, sizeof error);
    status |= write_npy(in_folder("flat"), CR_NPY_F4, 1, shapes[3], x, error, sizeof error);
    status |= write_npy(in_folder("ints"), CR_NPY_I4, 2, shapes[2], x, error, sizeof error);
    status |= write_npy(in_folder("id"), CR_NPY_I4, 1, shapes[3], id, error, sizeof error);
    status |=
        write_npy(in_folder("negative"), CR_NPY_I4, 1, shapes[3], negative, error, sizeof error);
    ck_assert_int_eq(status, 0);
}

/* Splits a command line at its spaces; @ stands for the test's folder. */
static int split_line(const char *line, char *text, size_t size, char **argv)
{
    size_t n = 0;
    int argc = 0;
    char *word;

    for (; *line; line++) {
        if (*line == '@')
            n += (size_t)snprintf(text + n, size - n, "%s/", folder);
        else
            text[n++] = *line;
    }
    text[n] = '\0';
    for (word = strtok(text, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    return argc;
}

/* Runs the sample with a command line; returns its exit status. */
static int run_sample(const char *line)
{
    char text[1024], *argv[32];
    int argc = split_line(line, text, sizeof text, argv);

    if (is_child())
        leave(sample_main(argc, argv));
    return child_status;
}

static const struct {
    const char *line;
    const char *message; /* the expected message; null: success without output */
} calls[] = {
    {"p --weights @w --input x=@x --input id=@id --output y=@y", NULL},
    {"p --output z=@z --output y=@y --input id=@id --input x=@x --weights @w", NULL},
    {"p", "usage:"},
    {"p --frob 1", "--frob: unknown or repeated option, or no file, expected --weights"},
    {"p --weights", "and a file"},
    {"p --weights @w --weights @w", "--weights: unknown or repeated option"},
    {"p --input x", "x: unknown or repeated NAME, or no file, expected NAME=FILE.npy"},
    {"p --input x=", "expected NAME=FILE.npy"},
    {"p --input x=@x --input x=@x", "repeated NAME"},
    {"p --input y=@x", "--help"},
    {"p --output =@x", "--help"},
    {"p --weights @w --input x=@x --output y=@y", "id: no file"},
    {"p --input x=@x --input id=@id --output y=@y", "no weights"},
    {"p --weights @w --input x=@x --input id=@id", "nothing to write"},
    {"p --weights @none --input x=@x --input id=@id --output y=@y", "none: cannot be opened"},
    {"p --weights @x --input x=@x --input id=@id --output y=@y",
     "x: found a .npy file, expected safetensors"},
    {"p --weights @less --input x=@x --input id=@id --output y=@y",
     "'linear.bias' is not there, expected it with shape [3]"},
    {"p --weights @int --input x=@x --input id=@id --output y=@y",
     "tensor 'linear.bias' has dtype I32, expected F32"},
    {"p --weights @square --input x=@x --input id=@id --output y=@y",
     "of another shape, expected it with shape [3]"},
    {"p --weights @w --input x=@w --input id=@id --output y=@y", "expected '\\x93NUMPY'"},
    {"p --weights @w --input x=@flat --input id=@id --output y=@y", "expected [2, 4] for 'x'"},
    {"p --weights @w --input x=@ints --input id=@id --output y=@y", "dtype '<i4', expected f2"},
    {"p --weights @w --input x=@x --input id=@flat --output y=@y", "dtype '<f4', expected i4"},
    {"p --weights @w --input x=@x --input id=@negative --output y=@y", "returns 7, expected 0"},
    {"p --weights @w --input x=@x --input id=@id --output y=@no/y", "cannot be written"},
    {"p --weights @w --input x=@x --input id=@id --output y=@pipe", "a pipe, expected"},
    {"p --weights @w --input x=@ --input id=@id --output y=@y", "a folder, expected"},
};

/* The main ends with status 0 and a file, or with status 2, one line (except for the usage) and no
 * file. */
START_TEST(main_answers)
{
    int files, status;
    const char *message;

    put_sample();
    files = count_files();
    status = run_sample(calls[_i].line);
    message = last_message();
    ck_assert_int_eq(status, calls[_i].message ? 2 : 0);
    if (calls[_i].message) {
        ck_assert_msg(strstr(message, calls[_i].message) != NULL, "'%s'", message);
        ck_assert(_i == 2 || strchr(message, '\n')[1] == '\0');
        ck_assert_int_eq(count_files(), files);
    } else {
        ck_assert_str_eq(message, "");
    }
}
END_TEST

START_TEST(main_computes)
{
    static const float expected[6] = {15, 26, 37, 23, 34, 45};
    struct cr_npy file;
    int32_t z[2];
    float y[6];

    put_sample();
    ck_assert_int_eq(run_sample("p --weights @more --input x=@x --input id=@id --output y=@y "
                                "--output z=@z"),
                     0);
    check_message(last_message(), in_folder("more"), "ignored 1 tensors that are not in the model");
    ck_assert_int_eq(cr_npy_open(&file, in_folder("y"), error, sizeof error), 0);
    ck_assert(file.rank == 2 && file.shape[0] == 2 && file.shape[1] == 3);
    ck_assert_int_eq(cr_npy_read_f32(&file, y, error, sizeof error), 0);
    ck_assert_mem_eq(y, expected, sizeof y);
    cr_npy_close(&file);
    ck_assert_int_eq(cr_npy_open(&file, in_folder("z"), error, sizeof error), 0);
    ck_assert_int_eq(cr_npy_read_i32(&file, z, error, sizeof error), 0);
    ck_assert(file.rank == 1 && z[0] == 31 && z[1] == 41);
    cr_npy_close(&file);
}
END_TEST

/* A temporary file of an earlier run, or a user's file with such a name, does not stop the main. */
START_TEST(stale_files_block_nothing)
{
    static const char *const names[] = {"y.tmp", ".crescent-0.tmp", ".y.tmp", "y.1.tmp"};
    size_t i;

    put_sample();
    for (i = 0; i < sizeof names / sizeof *names; i++)
        put_file(names[i], "abc", 3);
    ck_assert_int_eq(run_sample(calls[0].line), 0);
    ck_assert_int_eq(access(in_folder(".crescent-0.tmp"), F_OK), -1);
    ck_assert_int_eq(access(in_folder("y.tmp"), F_OK), 0);
}
END_TEST

/* ---- noise ---- */

/* Returns random bits by xorshift64, the same in every run. */
static uint64_t noise(void)
{
    static uint64_t state = 88172645463325252u;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Flips bits, or changes, removes, duplicates or inserts bytes of a file; returns its new size. */
static size_t mutate(unsigned char *bytes, size_t size)
{
    static const char likely[] = "[]{}\",: 0123456789-.e\\()'u";
    int edits = 1 + (int)(noise() % 2);

    while (edits-- > 0 && size > 1) {
        size_t at = noise() % size;
        unsigned char c = (unsigned char)likely[noise() % (sizeof likely - 1)];
        switch (noise() % 5) {
        case 0:
            bytes[at] ^= (unsigned char)(1u << noise() % 8);
            break;
        case 1:
            bytes[at] = c;
            break;
        case 2:
            memmove(bytes + at, bytes + at + 1, --size - at);
            break;
        case 3:
            memmove(bytes + at + 1, bytes + at, size++ - at);
            break;
        default:
            memmove(bytes + at + 1, bytes + at, size++ - at);
            bytes[at] = c;
        }
    }
    return size;
}

START_TEST(survives_noise_in_safetensors)
{
    static const char header[] =
        "{\"__metadata__\":{\"k\":\"v\"},"
        "\"a\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]},"
        "\"b\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[8,12]},"
        "\"c\":{\"dtype\":\"U8\",\"shape\":[0,3],\"data_offsets\":[12,12]}}";
    unsigned char bytes[600] = {0};
    uint64_t length = sizeof header - 1;
    int accepted = 0, i;

    for (i = 0; i < 4000; i++) {
        size_t size = 8 + length + 12;
        const char *path;
        memset(bytes, 0, sizeof bytes);
        memcpy(bytes, &length, 8);
        memcpy(bytes + 8, header, length);
        size = mutate(bytes, size);
        if (i % 2 && size > 20) { /* a correct length, so that only the contents of the header are wrong */
            uint64_t n = size - 20;
            memcpy(bytes, &n, 8);
        }
        path = put_file("noise", bytes, size);
        accepted += accepts_weights(path);
    }
    ck_assert_int_gt(accepted, 100);
    ck_assert_int_lt(accepted, 3500);
}
END_TEST

START_TEST(survives_noise_in_npy)
{
    static const char header[] = DICT("'<f4'", "False", "(2, 4)");
    int accepted = 0, i;

    for (i = 0; i < 4000; i++) {
        unsigned char bytes[256] = "\223NUMPY\001\000";
        struct cr_npy file;
        const char *path;
        size_t size;
        float out[64];

        bytes[8] = sizeof header - 1;
        memcpy(bytes + 10, header, sizeof header - 1);
        size = mutate(bytes, 10 + sizeof header - 1 + 32);
        if (i % 2 && size > 42)
            bytes[8] = (unsigned char)(size - 42);
        path = put_file("noise", bytes, size);
        if (cr_npy_open(&file, path, error, sizeof error) == 0) {
            const unsigned char *end = file.mapping.bytes + file.mapping.size;
            ck_assert(file.data + cr_npy_bytes(file.type, file.rank, file.shape) == end);
            ck_assert_int_lt(file.elements, 64);
            cr_npy_read_f32(&file, out, error, sizeof error);
            cr_npy_close(&file);
            accepted++;
        }
    }
    ck_assert_int_gt(accepted, 100);
    ck_assert_int_lt(accepted, 3500);
}
END_TEST

/* ---- the shared collection of malformed files ---- */

/* Reads a .npy file of any type completely; returns whether it was accepted. */
static int accepts_npy(const char *path)
{
    struct cr_npy file;
    void *out;
    int status;

    if (cr_npy_open(&file, path, error, sizeof error) != 0)
        return 0;
    out = malloc((size_t)file.elements * 4 + 1);
    ck_assert_ptr_nonnull(out);
    status = file.type == CR_NPY_I4 || file.type == CR_NPY_I8
                 ? cr_npy_read_i32(&file, out, error, sizeof error)
                 : cr_npy_read_f32(&file, out, error, sizeof error);
    free(out);
    cr_npy_close(&file);
    return status == 0;
}

/* Checks that the half-precision files of the collection contain one tensor of ones. */
static void check_ones(const char *path)
{
    struct cr_safetensors file;
    float out[8];
    int i;

    ck_assert_int_eq(cr_safetensors_open(&file, path, error, sizeof error), 0);
    ck_assert(file.n_tensors == 1 && file.tensors[0].elements == 8);
    ck_assert_int_eq(cr_safetensors_read(&file, file.tensors, out, error, sizeof error), 0);
    for (i = 0; i < 8; i++)
        ck_assert(out[i] == 1.0f);
    cr_safetensors_close(&file);
}

static void check_entry(const char *root, json_t *entry)
{
    const char *name = json_string_value(json_object_get(entry, "file"));
    const char *expect = json_string_value(json_object_get(entry, "expect"));
    int npy = strstr(name, ".npy") != NULL, accepted;
    char path[512];

    snprintf(path, sizeof path, "%s/%s", root, name);
    accepted = npy ? accepts_npy(path) : accepts_weights(path);
    if (strcmp(expect, "either") != 0)
        ck_assert_msg(accepted == (strcmp(expect, "reject") != 0), "%s: expected %s", path, expect);
    if (!accepted)
        check_message(error, path, ": ");
    if (strcmp(expect, "accept-format") == 0)
        check_ones(path);
}

START_TEST(gives_manifest_what_it_expects)
{
    static const char root[] = "../shared/data/malformed";
    char path[128];
    json_t *manifest, *entry;
    size_t i;

    snprintf(path, sizeof path, "%s/manifest.json", root);
    manifest = json_load_file(path, 0, NULL);
    if (!manifest) {
        printf("test_tensor_files: skipped: %s is not here\n", path);
        return;
    }
    ck_assert_uint_gt(json_array_size(manifest), 0);
    json_array_foreach(manifest, i, entry)
        check_entry(root, entry);
    json_decref(manifest);
}
END_TEST

/* ---- the suite ---- */

#define COUNT(table) (int)(sizeof(table) / sizeof *(table))

static TCase *add_case(Suite *suite, const char *name)
{
    TCase *test_case = tcase_create(name);

    tcase_add_checked_fixture(test_case, make_folder, remove_folder);
    tcase_set_timeout(test_case, 300);
    suite_add_tcase(suite, test_case);
    return test_case;
}

static void add_safetensors(Suite *suite)
{
    TCase *t = add_case(suite, "safetensors");

    tcase_add_loop_test(t, refuses_header, 0, COUNT(bad_headers));
    tcase_add_loop_test(t, refuses_utf8, 0, COUNT(bad_utf8));
    tcase_add_loop_test(t, refuses_length, 0, COUNT(bad_lengths));
    tcase_add_test(t, refuses_huge_header);
    tcase_add_loop_test(t, refuses_deep_nesting, 0, 2);
    tcase_add_loop_test(t, limits_the_number_of_values, 0, 2);
    tcase_add_test(t, refuses_any_other_size);
    tcase_add_loop_test(t, names_other_formats, 0, COUNT(other_formats));
    tcase_add_loop_test(t, escapes_names, 0, COUNT(rude_names));
    tcase_add_test(t, shortens_names);
    tcase_add_loop_test(t, accepts_header, 0, COUNT(good_headers));
    tcase_add_loop_test(t, decodes_names, 0, COUNT(long_names));
    tcase_add_loop_test(t, refuses_escape, 0, COUNT(bad_escapes));
    tcase_add_loop_test(t, converts_halves, 0, 2);
    tcase_add_test(t, converts_doubles);
    tcase_add_test(t, round_trip);
}

static void add_writing(Suite *suite)
{
    TCase *t = add_case(suite, "writing");

    tcase_add_loop_test(t, refuses_path, 0, COUNT(bad_paths));
    tcase_add_test(t, full_disk_leaves_old_file);
    tcase_add_test(t, replaces_file);
    tcase_add_test(t, removes_drafts);
    tcase_add_test(t, killed_writer_leaves_nothing);
    tcase_add_test(t, removes_abandoned_drafts);
    tcase_add_test(t, follows_umask);
    tcase_add_test(t, refuses_names_to_write);
}

static void add_npy(Suite *suite)
{
    TCase *t = add_case(suite, "npy");

    tcase_add_loop_test(t, reads_npy_header, 0, COUNT(npy_headers));
    tcase_add_loop_test(t, reads_npy_shape, 0, COUNT(npy_shapes));
    tcase_add_test(t, refuses_npy_nul);
    tcase_add_test(t, refuses_npy_rank);
    tcase_add_loop_test(t, reads_npy_versions, 0, 5);
    tcase_add_loop_test(t, writes_npy, 0, COUNT(npy_written));
    tcase_add_test(t, npy_round_trip);
    tcase_add_loop_test(t, reads_layouts, 0, COUNT(layout_ranks));
    tcase_add_test(t, reads_layouts_of_integers);
    tcase_add_loop_test(t, narrows_integers, 0, 3);
}

static void add_main(Suite *suite)
{
    TCase *t = add_case(suite, "main");

    tcase_add_loop_test(t, main_answers, 0, COUNT(calls));
    tcase_add_test(t, main_computes);
    tcase_add_test(t, stale_files_block_nothing);
}

static void add_noise(Suite *suite)
{
    TCase *t = add_case(suite, "noise");

    tcase_add_test(t, survives_noise_in_safetensors);
    tcase_add_test(t, survives_noise_in_npy);
    tcase_add_test(t, gives_manifest_what_it_expects);
}

int main(void)
{
    Suite *suite = suite_create("tensor_files");
    SRunner *runner;
    int failed;

    add_safetensors(suite);
    add_writing(suite);
    add_npy(suite);
    add_main(suite);
    add_noise(suite);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
