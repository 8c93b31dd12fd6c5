/* A text to encode, and a second text or null; at most `most` ids, or 0 for no limit.  `ids` has
 * room for NAME_ENCODE_IDS of the bytes of both texts.  `types`, unless null, has the same room,
 * for the segment number of each id. */
#ifndef CR_TEXTS
#define CR_TEXTS
struct cr_texts {
    const char *text, *pair;
    size_t n, n_pair;
    int64_t most;
    int32_t *ids, *types;
    int cut; /* output: 1 if a text was truncated */
};
#endif
