/* The state before a token that is being decoded; zeros at the beginning. */
#ifndef CR_TEXT_STATE
#define CR_TEXT_STATE
struct cr_text_state {
    int32_t tokens, stripped;
    int shown, begun;
};

/* Which special tokens are shown: all but those that encoding puts before the text, all, or
 * none. */
enum cr_specials { CR_SPECIALS_WITHIN, CR_SPECIALS_ALL, CR_SPECIALS_NONE };
#endif
