/*
 * config_file.h - reads config.json and generation_config.json of a folder in Hugging Face's
 * layout, with checks of keys and types.
 */
#ifndef CR_CONFIG_FILE_H
#define CR_CONFIG_FILE_H

#include "document.h"

/* Reads the file at `path`, a string that must outlive the document.  Fails if the file has more
 * than 1 MB, is not an object, or has a key twice in an object: Python would use the last value,
 * but a wrong value of a config.json changes what a model computes. */
int cr_config_read(struct cr_document *document, const char *path, struct cr_error *error);

/* Sets *text to the string under a key, which messages call `what`; to null if the key is missing
 * or its value null. */
int cr_config_text(const struct cr_document *document, const char *key, const char *what,
                   const char **text, struct cr_error *error);

/* Reads the whole numbers under a key of the file at `path`: one number, or a list of at most
 * `most`; 2048.0 counts as whole.  *n is 0 if the file or the key is missing, or if the value is
 * null. */
int cr_config_integers(const char *path, const char *key, int64_t *values, int most, int *n,
                       struct cr_error *error);

#endif
