/*
 * document.h - a JSON file in memory, for readers that look things up in it.
 *
 * Values are numbers into an array; 0 is the whole document, and CR_NO_VALUE is none.
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

/* A value, of which a vocabulary has many.  `text` ends in a NUL, and holds none.  Only the members
 * of its kind have a meaning. */
struct cr_json_value {
    enum cr_json_kind kind;
    int first, next; /* items or members: the first, or CR_NO_VALUE; the neighbour */
    uint32_t key_length;
    const char *key; /* of a member, else null */
    union {
        const char *text; /* of a string */
        int64_t integer;
        double real;
    };
    union {
        uint32_t length; /* of a string */
        int count;       /* of items or members */
    };
    uint32_t at; /* where it begins in the file, or the space in front of it */
};

/* The number that a value is, an integer or a real one; 0 for other kinds. */
double cr_real_of(const struct cr_json_value *value);

struct cr_document {
    const char *path;
    struct cr_json_value *values;
    int n, cap;
    char *strings; /* of all keys and texts */
    struct cr_mapping file;
};

/* Reads the file at `path`, which must outlive the document. */
int cr_document_read(struct cr_document *document, const char *path, struct cr_error *error);

/* Reads it if it has `most` bytes at most. */
int cr_document_read_small(struct cr_document *document, const char *path, size_t most,
                           struct cr_error *error);

/* The same without the strings, which the caller then frees. */
char *cr_document_keep_strings(struct cr_document *document);
void cr_document_free(struct cr_document *document);

/* The line of a value, from 1 on. */
int cr_value_line(const struct cr_document *document, int value);

/* "FILE:LINE: JSON: ...", with the line of a value; returns -1. */
int cr_fail_value(const struct cr_document *document, int value, const char *what,
                  struct cr_error *error);

/* The member of that name, of several the last, as Python reads them; CR_NO_VALUE if there is none, if it is
 * null, or if it is no object. */
int cr_member(const struct cr_document *document, int object, const char *name);

/* "a string", "an object", ... of a value, "nothing" of none. */
const char *cr_kind_of_value(const struct cr_document *document, int value);

/*
 * What a member says.  Each leaves *out alone if there is no such member, or if it is null.  Of
 * another kind is an error, which calls the object `where`.
 */
int cr_read_bool(const struct cr_document *document, int object, const char *where,
                 const char *name, bool *out, struct cr_error *error);
int cr_read_integer(const struct cr_document *document, int object, const char *where,
                    const char *name, int64_t *out, struct cr_error *error);
int cr_read_string(const struct cr_document *document, int object, const char *where,
                   const char *name, const char **out, struct cr_error *error);

/* The member, which has to be there and of that kind; CR_NO_VALUE with an error otherwise. */
int cr_need_member(const struct cr_document *document, int object, const char *where,
                   const char *name, enum cr_json_kind kind, struct cr_error *error);

#endif
