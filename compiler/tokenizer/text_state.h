/* The state of decoding a text between two tokens; zeros at the beginning. */
#ifndef CR_TEXT_STATE
#define CR_TEXT_STATE
struct cr_text_state {
    int32_t tokens, stripped;
    int shown, begun;
};

/* Selects the special tokens that decoding shows: all but those that encoding puts before the text;
 * all; or none. */
enum cr_specials { CR_SPECIALS_WITHIN, CR_SPECIALS_ALL, CR_SPECIALS_NONE };
#endif
