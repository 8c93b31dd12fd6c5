/*
 * document.h - a parsed JSON file in memory, for random access.
 *
 * Values are referred to by their index in an array; index 0 is the whole document, and
 * CR_NO_VALUE is no value.
 */
#ifndef CR_DOCUMENT_H
#define CR_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler/files/mapping.h"
#include "compiler/ir/error.h"

enum { CR_NO_VALUE = -1 };

enum cr_json_kind {
    CR_JSON_NULL,
    CR_JSON_FALSE,
    CR_JSON_TRUE,
    CR_JSON_INTEGER,
    CR_JSON_REAL,
    CR_JSON_STRING,
    CR_JSON_ARRAY,
    CR_JSON_OBJECT
};

/* A value.  The struct is small, since a vocabulary has many values.  `text` ends with a NUL, and
 * contains no other NUL unless cr_document_read_zeros read the document.  `kind` determines which
 * of the other members are valid. */
struct cr_json_value {
    enum cr_json_kind kind;
    int first, next; /* index of the first item or member; index of the next sibling; or
                      * CR_NO_VALUE */
    uint32_t key_length;
    const char *key; /* key of a member; else null */
    union {
        const char *text; /* of a string */
        int64_t integer;
        double real;
        uint32_t end; /* array or object: the offset in the file just after its closing bracket */
    };
    union {
        uint32_t length; /* of a string */
        int count;       /* of items or members */
    };
    uint32_t at; /* offset in the file of its first byte, or of white space before that */
};

/* Returns the number of a value, integer or real; 0 for other kinds. */
double cr_real_of(const struct cr_json_value *value);

struct cr_document {
    const char *path;
    char *own_path; /* the same string if the document allocated it, else null */
    struct cr_json_value *values;
    int n, cap;
    char *strings; /* memory of all keys and texts */
    struct cr_mapping file;
};

/* Reads the file at `path`, a string that must outlive the document. */
int cr_document_read(struct cr_document *document, const char *path, struct cr_error *error);

/* Reads a file as cr_document_read does; fails if it has more than `most` bytes. */
int cr_document_read_small(struct cr_document *document, const char *path, size_t most,
                           struct cr_error *error);

/* Does the same as cr_document_read for a tokenizer's file, whose keys and texts may contain the
 * character 0. */
int cr_document_read_zeros(struct cr_document *document, const char *path, struct cr_error *error);

/* Reads a file of a folder.  Returns 1, 0 if there is no such file, or -1 with an error.  If `zeros`, the file is read
 * by cr_document_read_zeros; otherwise it may have 16 MiB. */
int cr_document_read_optional(struct cr_document *document, const char *folder, const char *name, bool zeros,
                              struct cr_error *error);

/* An array or object whose items need not be parsed again: `begin` and `end` are the offsets `at`
 * and `end` of its value in an earlier parse.  Offsets 0 and 0 mean no hole. */
struct cr_json_hole {
    uint32_t begin, end;
};

/* Does the same as cr_document_read, but skips the text in n holes: their values have no items. */
int cr_document_read_around(struct cr_document *document, const char *path, const struct cr_json_hole *holes,
                            int n, struct cr_error *error);

/* Returns the memory into which all keys and texts point; the caller frees it. */
char *cr_document_keep_strings(struct cr_document *document);
void cr_document_free(struct cr_document *document);

/* Returns the line number of a value in the file, counted from 1. */
int cr_value_line(const struct cr_document *document, int value);

/* Sets the error "FILE:LINE: JSON: ..." about a value, with the value's line; returns -1. */
int cr_fail_value(const struct cr_document *document, int value, const char *what,
                  struct cr_error *error);

/* Returns the member called `name`; the last one if there are several, as in Python.  Returns
 * CR_NO_VALUE if there is none, if its value is null, or if `object` is not an object. */
int cr_member(const struct cr_document *document, int object, const char *name);

/* Returns a description of a value's kind for messages: "a string", "an object", ...; "nothing"
 * for CR_NO_VALUE. */
const char *cr_kind_of_value(const struct cr_document *document, int value);

/*
 * Read the value of a member into *out.  Each leaves *out unchanged if the member is missing or
 * null, and fails if it has another kind; messages call the object `where`.
 */
int cr_read_bool(const struct cr_document *document, int object, const char *where,
                 const char *name, bool *out, struct cr_error *error);
int cr_read_integer(const struct cr_document *document, int object, const char *where,
                    const char *name, int64_t *out, struct cr_error *error);
int cr_read_number(const struct cr_document *document, int object, const char *where,
                   const char *name, double *out, struct cr_error *error);
int cr_read_string(const struct cr_document *document, int object, const char *where,
                   const char *name, const char **out, struct cr_error *error);
int cr_read_object(const struct cr_document *document, int object, const char *where,
                   const char *name, int *out, struct cr_error *error);

/* Returns the member with this name and kind; CR_NO_VALUE with an error if there is none. */
int cr_need_member(const struct cr_document *document, int object, const char *where,
                   const char *name, enum cr_json_kind kind, struct cr_error *error);

#endif
