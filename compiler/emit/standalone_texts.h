/* A text, and a second one or null; at most `most` ids, or 0: as many as there are.  `ids` has room for
 * NAME_ENCODE_IDS of the bytes of both; `types`, by id the number of its segment, as well, or is null. */
#ifndef CR_TEXTS
#define CR_TEXTS
struct cr_texts {
    const char *text, *pair;
    size_t n, n_pair;
    int64_t most;
    int32_t *ids, *types;
    int cut; /* is set: 1 if a text was too long */
};
#endif
