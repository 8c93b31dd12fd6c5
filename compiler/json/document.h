/*
 * document.h - a JSON file in memory, for random access.
 *
 * A value is an index into an array; 0 is the whole document, and CR_NO_VALUE means none.
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

/* A value; small, since a vocabulary has many.  `text` ends in a NUL, and has none inside unless
 * the document was read by cr_document_read_zeros.  `kind` says which of the other members are
 * valid. */
struct cr_json_value {
    enum cr_json_kind kind;
    int first, next; /* index of the first item or member; and of the next sibling; or
                      * CR_NO_VALUE */
    uint32_t key_length;
    const char *key; /* of a member, else null */
    union {
        const char *text; /* of a string */
        int64_t integer;
        double real;
        uint32_t end; /* of an array or an object: the offset in the file behind it */
    };
    union {
        uint32_t length; /* of a string */
        int count;       /* of items or members */
    };
    uint32_t at; /* offset in the file of its start, or of the space before it */
};

/* Returns the number of a value, integer or real; 0 for other kinds. */
double cr_real_of(const struct cr_json_value *value);

struct cr_document {
    const char *path;
    struct cr_json_value *values;
    int n, cap;
    char *strings; /* of all keys and texts */
    struct cr_mapping file;
};

/* Reads the file at `path`, a string that must outlive the document. */
int cr_document_read(struct cr_document *document, const char *path, struct cr_error *error);

/* Does the same; fails if the file has more than `most` bytes. */
int cr_document_read_small(struct cr_document *document, const char *path, size_t most,
                           struct cr_error *error);

/* Does the same as cr_document_read, for a tokenizer's file: keys and texts may hold the character
 * 0. */
int cr_document_read_zeros(struct cr_document *document, const char *path, struct cr_error *error);

/* An array or an object that the caller knows already: the offsets of its value, which are `at` and
 * `end` of an earlier reading.  No hole is 0 to 0. */
struct cr_json_hole {
    uint32_t begin, end;
};

/* Does the same; passes over the text in n holes, whose values have no items then. */
int cr_document_read_around(struct cr_document *document, const char *path, const struct cr_json_hole *holes,
                            int n, struct cr_error *error);

/* Gives the strings, which all texts point into, to the caller, who frees them. */
char *cr_document_keep_strings(struct cr_document *document);
void cr_document_free(struct cr_document *document);

/* Returns the line number of a value, from 1 on. */
int cr_value_line(const struct cr_document *document, int value);

/* Sets the error "FILE:LINE: JSON: ...", with the line of a value; returns -1. */
int cr_fail_value(const struct cr_document *document, int value, const char *what,
                  struct cr_error *error);

/* Returns the member with a name, the last one if there are several, as Python does; CR_NO_VALUE
 * if there is none, if it is null, or if `object` is not an object. */
int cr_member(const struct cr_document *document, int object, const char *name);

/* Returns "a string", "an object", ... for a value, "nothing" for CR_NO_VALUE. */
const char *cr_kind_of_value(const struct cr_document *document, int value);

/*
 * Read the value of a member.  Each leaves *out unchanged if the member is missing or null, and
 * fails if it is of another kind; messages name the object `where`.
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

/* Returns the member with a name and a kind; CR_NO_VALUE with an error if there is none. */
int cr_need_member(const struct cr_document *document, int object, const char *where,
                   const char *name, enum cr_json_kind kind, struct cr_error *error);

#endif
