/* document.c - parses a JSON file into an array of values; see document.h. */
#include "document.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/files/json_value.h"
#include "compiler/files/lfs.h"
#include "compiler/files/utf8.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/text.h"

enum { MAX_DEPTH = 32, MAX_SIZE = 1 << 29 };

/* The state of parsing a file. */
struct reader {
    struct cr_document *document;
    struct cr_json json;
    char *room; /* where the next decoded string is stored */
    int depth;
    const struct cr_json_hole *holes;
    int n_holes;
};

/* Sets the error: "FILE:LINE: ", then the JSON reader's message or, if it has none, `what`. */
static int fail_here(const struct reader *r, const char *what, struct cr_error *error)
{
    int line = cr_json_line(&r->json);
    if (r->json.at == r->json.end)
        return cr_fail(error, "%s:%d: found the end of the file, expected JSON to go on",
                       r->document->path, line);
    return cr_fail(error, "%s:%d: JSON: %s", r->document->path, line,
                   r->json.wrong ? r->json.wrong : what);
}

/* Returns the number of digits at the start of a text. */
static size_t digits(const char *at, const char *end)
{
    size_t n = 0;
    while (at + n < end && at[n] >= '0' && at[n] <= '9')
        n++;
    return n;
}

enum { DIGITS_OF_INTEGER = 18 };

/* Reads a number that consists only of digits; a fast path for the ids of vocabularies. */
static bool take_digits(struct cr_json *json, struct cr_json_value *value)
{
    int64_t sum = 0;
    const char *c = json->at;
    for (; c < json->end && c - json->at < DIGITS_OF_INTEGER && *c >= '0' && *c <= '9'; c++)
        sum = 10 * sum + (*c - '0');
    if (c == json->at || c == json->end || (*c != ',' && *c != '}') ||
        (*json->at == '0' && c - json->at > 1))
        return false;
    json->at = c;
    value->kind = CR_JSON_INTEGER;
    value->integer = sum;
    return true;
}

/* Reads a number.  Integers of more than 18 characters become real numbers; some files have such
 * a number as a length that means "no limit". */
static bool take_number(struct reader *r, struct cr_json_value *value)
{
    enum { LONGEST = 400 };
    char text[LONGEST + 1];
    size_t n = digits(r->json.at, r->json.end);
    if (n > 0 && n <= DIGITS_OF_INTEGER && cr_json_integer(&r->json, &value->integer)) {
        value->kind = CR_JSON_INTEGER;
        return true;
    }
    n = cr_json_number_size(r->json.at, r->json.end);
    if (n == 0 || n > LONGEST)
        return false;
    memcpy(text, r->json.at, n);
    text[n] = '\0';
    value->kind = CR_JSON_REAL;
    if (n <= DIGITS_OF_INTEGER && !strpbrk(text, ".eE")) {
        value->kind = CR_JSON_INTEGER;
        value->integer = strtoll(text, NULL, 10);
    } else {
        value->real = strtod(text, NULL);
    }
    r->json.at += n;
    return true;
}

/* Reads true, false or null. */
static bool take_word(struct reader *r, struct cr_json_value *value)
{
    char word = cr_json_word(&r->json);
    value->kind = word == 't' ? CR_JSON_TRUE : word == 'f' ? CR_JSON_FALSE : CR_JSON_NULL;
    return word;
}

/* Copies a string if it is valid and without escapes, as most are.  Returns its size with a NUL;
 * 0 if it is not. */
static size_t copy_plain(struct cr_json *json, char *out)
{
    const char *begin = json->at + 1, *c = begin;
    while (c < json->end && *c != '"' && *c != '\\') {
        size_t n = (unsigned char)*c < 0x80 ? 1 : cr_utf8(c, json->end);
        if (n == 0 || (unsigned char)*c < 0x20)
            return 0;
        c += n;
    }
    if (c == json->end || *c != '"')
        return 0;
    size_t length = (size_t)(c - begin);
    memcpy(out, begin, length);
    out[length] = '\0';
    json->at = c + 1;
    return length + 1;
}

/* Reads a string, and stores it decoded at r->room. */
static bool take_string(struct reader *r, const char **text, uint32_t *length)
{
    struct cr_json *json = &r->json;
    size_t size = cr_json_peek(json) == '"' ? copy_plain(json, r->room) : 0;
    if (size == 0 && (size = cr_json_string(json, r->room)) == 0)
        return false;
    *text = r->room;
    *length = (uint32_t)(size - 1);
    r->room += size;
    return true;
}

static int read_value(struct reader *r, struct cr_error *error);

/* If a hole begins at offset `begin`, skips to the hole's end and returns true. */
static bool pass_hole(struct reader *r, uint32_t begin)
{
    for (int i = 0; i < r->n_holes; i++)
        if (r->holes[i].begin == begin && r->holes[i].end > begin &&
            r->holes[i].end <= r->json.end - r->json.begin) {
            r->json.at = r->json.begin + r->holes[i].end;
            return true;
        }
    return false;
}

/* Reads the key of a member and the colon after it.  Does nothing in an array. */
static int take_key(struct reader *r, char end, const char **key, uint32_t *length,
                    struct cr_error *error)
{
    if (end != '}')
        return 0;
    if (!take_string(r, key, length) || cr_json_peek(&r->json) != ':')
        return fail_here(r, "expected \"NAME\": before a value", error);
    r->json.at++;
    return 0;
}

/* Reads the comma before an item; fails if there is none, or if no item follows. */
static int take_comma(struct reader *r, char end, struct cr_error *error)
{
    bool object = end == '}';
    if (cr_json_peek(&r->json) != ',')
        return fail_here(r, object ? "expected ',' or '}'" : "expected ',' or ']'", error);
    r->json.at++;
    if (cr_json_peek(&r->json) == end)
        return fail_here(r,
                         object ? "a comma before '}', expected none after the last member"
                                : "a comma before ']', expected none after the last item",
                         error);
    return 0;
}

/* Reads the items of an array, or the members of an object, after the opening bracket. */
static int read_items(struct reader *r, int parent, char end, struct cr_error *error)
{
    int last = CR_NO_VALUE;
    for (r->json.at++; cr_json_peek(&r->json) != end;) {
        const char *key = NULL;
        uint32_t length = 0;
        if (last != CR_NO_VALUE && take_comma(r, end, error))
            return -1;
        if (take_key(r, end, &key, &length, error))
            return -1;
        int item = read_value(r, error);
        if (item < 0)
            return -1;
        struct cr_json_value *values = r->document->values;
        values[item].key = key;
        values[item].key_length = length;
        *(last < 0 ? &values[parent].first : &values[last].next) = item;
        values[parent].count++;
        last = item;
    }
    r->json.at++;
    return 0;
}

/* Reads a value with all its items; returns the value's index, or -1. */
static int read_value(struct reader *r, struct cr_error *error)
{
    struct cr_document *d = r->document;
    int number = d->n, status = 0;
    struct cr_json_value *value = CR_PUSH(d->values, d->n, d->cap);
    *value = (struct cr_json_value){
        .first = CR_NO_VALUE, .next = CR_NO_VALUE, .at = (uint32_t)(r->json.at - r->json.begin)};
    if (++r->depth > MAX_DEPTH)
        return fail_here(r, "a text that is nested too deep, expected fewer levels", error);
    char first = cr_json_peek(&r->json);
    if (first == '{' || first == '[') {
        value->kind = first == '{' ? CR_JSON_OBJECT : CR_JSON_ARRAY;
        if (!pass_hole(r, value->at))
            status = read_items(r, number, first == '{' ? '}' : ']', error);
        d->values[number].end = (uint32_t)(r->json.at - r->json.begin);
    } else if (first == '"' && take_string(r, &value->text, &value->length)) {
        value->kind = CR_JSON_STRING;
    } else if (r->json.wrong || (!take_digits(&r->json, value) &&
                                !take_word(r, value) && !take_number(r, value))) {
        status = fail_here(r, "found no value, expected one", error);
    }
    r->depth--;
    return status ? -1 : number;
}

/* Moves the decoded strings to memory of exactly their size if they take less than half of what
 * was reserved, as when holes were skipped. */
static void fit_strings(struct reader *r, size_t room)
{
    struct cr_document *d = r->document;
    const char *old = d->strings;
    const size_t used = (size_t)(r->room - old);
    if (used >= room / 2)
        return;
    char *strings = memcpy(cr_malloc(used + 1), old, used);
    for (int i = 0; i < d->n; i++) {
        struct cr_json_value *value = &d->values[i];
        if (value->key)
            value->key = strings + (value->key - old);
        if (value->kind == CR_JSON_STRING)
            value->text = strings + (value->text - old);
    }
    free(d->strings);
    d->strings = strings;
}

/* Parses the document's bytes.  All decoded strings with their NULs fit into as many bytes as the
 * file has, since each is no longer than its quoted text. */
static int read_bytes(struct cr_document *d, bool zeros, const struct cr_json_hole *holes, int n_holes,
                      struct cr_error *error)
{
    const char *bytes = (const char *)d->file.bytes;
    size_t size = d->file.size;
    d->strings = cr_malloc(size + 1);
    struct reader r = {.document = d,
                       .json = {bytes, bytes, bytes + size, NULL, zeros},
                       .room = d->strings,
                       .holes = holes,
                       .n_holes = n_holes};
    if (cr_is_lfs(bytes, size))
        return cr_fail(error, "%s: " CR_LFS_MESSAGE, d->path);
    if (read_value(&r, error) < 0)
        return -1;
    if (!cr_json_ended(&r.json))
        return fail_here(&r, "found more than one value, expected one", error);
    fit_strings(&r, size + 1);
    return 0;
}

/* Parses the file at `path`, of at most `most` bytes, without the contents of the holes.  If
 * `zeros`, strings may contain the character 0. */
static int read_file(struct cr_document *d, const char *path, size_t most, bool zeros,
                     const struct cr_json_hole *holes, int n_holes, struct cr_error *error)
{
    *d = (struct cr_document){.path = path};
    if (cr_map_file(&d->file, path, error->text, sizeof error->text))
        return -1;
    size_t size = d->file.size;
    int status = size > most ? cr_fail(error, "%.400s: found %zu bytes, expected at most %zu", path,
                                       size, most)
                             : read_bytes(d, zeros, holes, n_holes, error);
    if (status)
        cr_document_free(d);
    return status;
}

int cr_document_read_small(struct cr_document *d, const char *path, size_t most,
                           struct cr_error *error)
{
    return read_file(d, path, most, false, NULL, 0, error);
}

int cr_document_read(struct cr_document *d, const char *path, struct cr_error *error)
{
    return read_file(d, path, MAX_SIZE, false, NULL, 0, error);
}

int cr_document_read_zeros(struct cr_document *d, const char *path, struct cr_error *error)
{
    return read_file(d, path, MAX_SIZE, true, NULL, 0, error);
}

int cr_document_read_around(struct cr_document *d, const char *path, const struct cr_json_hole *holes, int n,
                            struct cr_error *error)
{
    return read_file(d, path, MAX_SIZE, true, holes, n, error);
}

int cr_document_read_optional(struct cr_document *d, const char *folder, const char *name, bool zeros,
                              struct cr_error *error)
{
    enum { MOST_BYTES = 1 << 24 };
    struct cr_text path = {0};
    cr_put(&path, "%s/%s", folder, name);
    const bool missing = access(path.data, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
    int status = !missing;
    if (!missing && read_file(d, path.data, zeros ? MAX_SIZE : MOST_BYTES, zeros, NULL, 0, error))
        status = -1;
    if (status == 1)
        d->own_path = path.data;
    else
        free(path.data);
    return status;
}

char *cr_document_keep_strings(struct cr_document *d)
{
    char *strings = d->strings;
    d->strings = NULL;
    return strings;
}

void cr_document_free(struct cr_document *d)
{
    free(d->values);
    free(d->strings);
    free(d->own_path);
    cr_unmap_file(&d->file);
    *d = (struct cr_document){0};
}

int cr_value_line(const struct cr_document *d, int value)
{
    const char *bytes = (const char *)d->file.bytes, *at = bytes + d->values[value].at;
    const struct cr_json json = {.begin = bytes, .at = at + strspn(at, " \n\t\r")};
    return cr_json_line(&json);
}

int cr_fail_value(const struct cr_document *d, int value, const char *what, struct cr_error *error)
{
    return cr_fail(error, "%.400s:%d: JSON: %s", d->path, cr_value_line(d, value), what);
}

/* ---- members ---- */

double cr_real_of(const struct cr_json_value *value)
{
    return value->kind == CR_JSON_REAL      ? value->real
           : value->kind == CR_JSON_INTEGER ? (double)value->integer
                                            : 0;
}

int cr_member(const struct cr_document *d, int object, const char *name)
{
    int last = CR_NO_VALUE;
    if (object < 0 || d->values[object].kind != CR_JSON_OBJECT)
        return CR_NO_VALUE;
    size_t length = strlen(name);
    for (int i = d->values[object].first; i >= 0; i = d->values[i].next)
        if (d->values[i].key_length == length && memcmp(d->values[i].key, name, length) == 0)
            last = i;
    return last >= 0 && d->values[last].kind != CR_JSON_NULL ? last : CR_NO_VALUE;
}

static const char *const kinds[] = {
    [CR_JSON_NULL] = "null",
    [CR_JSON_FALSE] = "false",
    [CR_JSON_TRUE] = "true",
    [CR_JSON_INTEGER] = "an integer",
    [CR_JSON_REAL] = "a number that is no integer",
    [CR_JSON_STRING] = "a string",
    [CR_JSON_ARRAY] = "an array",
    [CR_JSON_OBJECT] = "an object",
};

const char *cr_kind_of_value(const struct cr_document *d, int value)
{
    return value < 0 ? "nothing" : kinds[d->values[value].kind];
}

/* Sets the error for a member of the wrong kind, with the member's line, or the object's line if
 * the member is missing. */
static int fail_kind(const struct cr_document *d, int object, int value, const char *where, const char *name,
                     const char *expected, struct cr_error *error)
{
    int line = cr_value_line(d, value >= 0 ? value : object >= 0 ? object : 0);
    return cr_fail(error, "%s:%d: %s: found %s for \"%s\", expected %s", d->path, line, where,
                   cr_kind_of_value(d, value), name, expected);
}

int cr_read_bool(const struct cr_document *d, int object, const char *where, const char *name,
                 bool *out, struct cr_error *error)
{
    int member = cr_member(d, object, name);
    if (member < 0)
        return 0;
    enum cr_json_kind kind = d->values[member].kind;
    if (kind != CR_JSON_TRUE && kind != CR_JSON_FALSE)
        return fail_kind(d, object, member, where, name, "true or false", error);
    *out = kind == CR_JSON_TRUE;
    return 0;
}

int cr_read_number(const struct cr_document *d, int object, const char *where, const char *name, double *out,
                   struct cr_error *error)
{
    int member = cr_member(d, object, name);
    if (member < 0)
        return 0;
    if (d->values[member].kind != CR_JSON_INTEGER && d->values[member].kind != CR_JSON_REAL)
        return fail_kind(d, object, member, where, name, "a number", error);
    *out = cr_real_of(&d->values[member]);
    return 0;
}

int cr_read_integer(const struct cr_document *d, int object, const char *where, const char *name,
                    int64_t *out, struct cr_error *error)
{
    int member = cr_member(d, object, name);
    if (member < 0)
        return 0;
    if (d->values[member].kind != CR_JSON_INTEGER)
        return fail_kind(d, object, member, where, name, "an integer", error);
    *out = d->values[member].integer;
    return 0;
}

int cr_read_string(const struct cr_document *d, int object, const char *where, const char *name,
                   const char **out, struct cr_error *error)
{
    int member = cr_member(d, object, name);
    if (member < 0)
        return 0;
    if (d->values[member].kind != CR_JSON_STRING)
        return fail_kind(d, object, member, where, name, "a string", error);
    if (strlen(d->values[member].text) < d->values[member].length)
        return cr_fail(error, "%s:%d: %s: found the character 0 in \"%s\", expected a string without it", d->path,
                       cr_value_line(d, member), where, name);
    *out = d->values[member].text;
    return 0;
}

int cr_read_object(const struct cr_document *d, int object, const char *where, const char *name, int *out,
                   struct cr_error *error)
{
    int member = cr_member(d, object, name);
    if (member < 0)
        return 0;
    if (d->values[member].kind != CR_JSON_OBJECT)
        return fail_kind(d, object, member, where, name, "an object", error);
    *out = member;
    return 0;
}

int cr_need_member(const struct cr_document *d, int object, const char *where, const char *name,
                   enum cr_json_kind kind, struct cr_error *error)
{
    int member = cr_member(d, object, name);
    if (member >= 0 && d->values[member].kind == kind)
        return member;
    fail_kind(d, object, member, where, name, kinds[kind], error);
    return CR_NO_VALUE;
}
