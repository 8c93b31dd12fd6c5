/*
 * shape.h - how emitted C replaces the parts of a tokenizer.
 *
 * Emitted C does not run parts one behind the other: it cuts text by one scanner or at visible spaces, and
 * knows the text of each token.  The row of a kind of parts (part.h) says which of that its part asks for; a
 * part that emitted C cannot do is refused by name.
 */
#ifndef CR_TOKENIZER_SHAPE_H
#define CR_TOKENIZER_SHAPE_H

#include "scanner.h"
#include "tokenizer.h"

/* The settings of emitted C; zeros at first, with the path set. */
struct cr_shape {
    const char *path; /* of the tokenizer, for messages */
    bool byte_level, nfc;
    enum cr_scanner scanner;
    size_t digits;
    const char *space; /* the one character that replaces a space, in UTF-8 */
    size_t space_bytes;
    bool splits; /* text is cut before each visible space */
    enum cr_prepending prepending;
    int64_t strips;    /* number of spaces that decoding removes at the beginning */
    bool strips_first; /* decoding removes all spaces of the first token */
    /* while parts are read */
    const struct cr_text_part *prepend;
    const struct cr_text_parts *parts, *normalizers;
    int at;               /* index of the part that is read */
    const char *expected; /* the supported parts, for messages */
};

/* Collect the settings of the parts that encode (normalizers and pre-tokenizers), and of the
 * decoders. */
int cr_shape_encoding(struct cr_shape *shape, const struct cr_tokenizer *tokenizer,
                      struct cr_error *error);
int cr_shape_decoding(struct cr_shape *shape, const struct cr_tokenizer *tokenizer,
                      struct cr_error *error);

/* Fails: emitted C does not support `what`.  A null `expected` names the parts that are
 * supported. */
int cr_refuse_shape(const struct cr_shape *shape, const char *what, const char *expected,
                    struct cr_error *error);

/* Makes the content of a part the replacement of spaces; false unless it is one character and no
 * white space. */
bool cr_shape_space(struct cr_shape *shape, const struct cr_text_part *part);

#endif
