/*
 * config_file.h - config.json and generation_config.json of a folder in Hugging Face's layout: how they are
 * read, what types their keys have, and what is refused.
 */
#ifndef CR_CONFIG_FILE_H
#define CR_CONFIG_FILE_H

#include "document.h"

/* Reads the file at `path`, which must outlive the document.  Refused are more than 1 MB, what is no object, and
 * a key that an object has twice: Python takes the last value, but a config.json says what a model computes. */
int cr_config_read(struct cr_document *document, const char *path, struct cr_error *error);

/* The text under a key, which messages call `what`; null if the key is not there or null. */
int cr_config_text(const struct cr_document *document, const char *key, const char *what,
                   const char **text, struct cr_error *error);

/* The whole numbers under a key of a file: one, or a list of at most `most`; 2048.0 is one, too.  None if there
 * is no such file, if the key is not there, or if it is null. */
int cr_config_integers(const char *path, const char *key, int64_t *values, int most, int *n,
                       struct cr_error *error);

#endif
