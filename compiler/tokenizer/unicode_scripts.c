/*
 * unicode_scripts.c - UnicodeScripts: cuts text where the script changes; see part.h.
 *
 * Spaces, and characters without a script, belong to the piece in front of them; at the beginning of a
 * text they are dropped, as by Hugging Face's library.  Chinese characters and the two kinds of
 * Japanese letters are one script.
 */
#include "unicode_scripts.h"

#include <stdlib.h>

/* The characters of no script. */
#define NONE " \\p{Cn}\\p{Co}"
#define JAPANESE "\\p{Han}\\p{Hiragana}\\p{Katakana}\\x{30fc}"

/* All other scripts.  Digits and punctuation belong to the script Common. */
static const char *const scripts[] = {
    "Adlam", "Ahom", "Anatolian_Hieroglyphs", "Arabic", "Armenian", "Avestan", "Balinese",
    "Bamum", "Bassa_Vah", "Batak", "Bengali", "Bhaiksuki", "Bopomofo", "Brahmi", "Braille",
    "Buginese", "Buhid", "Canadian_Aboriginal", "Carian", "Caucasian_Albanian", "Chakma", "Cham",
    "Cherokee", "Chorasmian", "Common", "Coptic", "Cuneiform", "Cypriot", "Cypro_Minoan",
    "Cyrillic", "Deseret", "Devanagari", "Dives_Akuru", "Dogra", "Duployan",
    "Egyptian_Hieroglyphs", "Elbasan", "Elymaic", "Ethiopic", "Georgian", "Glagolitic", "Gothic",
    "Grantha", "Greek", "Gujarati", "Gunjala_Gondi", "Gurmukhi", "Hangul", "Hanifi_Rohingya",
    "Hanunoo", "Hatran", "Hebrew", "Imperial_Aramaic", "Inherited", "Inscriptional_Pahlavi",
    "Inscriptional_Parthian", "Javanese", "Kaithi", "Kannada", "Kayah_Li", "Kharoshthi",
    "Khitan_Small_Script", "Khmer", "Khojki", "Khudawadi", "Lao", "Latin", "Lepcha", "Limbu",
    "Linear_A", "Linear_B", "Lisu", "Lycian", "Lydian", "Mahajani", "Makasar", "Malayalam",
    "Mandaic", "Manichaean", "Marchen", "Masaram_Gondi", "Medefaidrin", "Meetei_Mayek",
    "Mende_Kikakui", "Meroitic_Cursive", "Meroitic_Hieroglyphs", "Miao", "Modi", "Mongolian",
    "Mro", "Multani", "Myanmar", "Nabataean", "Nandinagari", "New_Tai_Lue", "Newa", "Nko",
    "Nushu", "Nyiakeng_Puachue_Hmong", "Ogham", "Ol_Chiki", "Old_Hungarian", "Old_Italic",
    "Old_North_Arabian", "Old_Permic", "Old_Persian", "Old_Sogdian", "Old_South_Arabian",
    "Old_Turkic", "Old_Uyghur", "Oriya", "Osage", "Osmanya", "Pahawh_Hmong", "Palmyrene",
    "Pau_Cin_Hau", "Phags_Pa", "Phoenician", "Psalter_Pahlavi", "Rejang", "Runic", "Samaritan",
    "Saurashtra", "Sharada", "Shavian", "Siddham", "SignWriting", "Sinhala", "Sogdian",
    "Sora_Sompeng", "Soyombo", "Sundanese", "Syloti_Nagri", "Syriac", "Tagalog", "Tagbanwa",
    "Tai_Le", "Tai_Tham", "Tai_Viet", "Takri", "Tamil", "Tangsa", "Tangut", "Telugu", "Thaana",
    "Thai", "Tibetan", "Tifinagh", "Tirhuta", "Toto", "Ugaritic", "Vai", "Vithkuqi", "Wancho",
    "Warang_Citi", "Yezidi", "Yi", "Zanabazar_Square",
};

int cr_read_unicode_scripts(struct cr_text_part *part, const struct cr_document *d, int object,
                            const char *where, struct cr_error *error)
{
    struct cr_text pattern = {0};
    (void)object;
    cr_put(&pattern, "[" JAPANESE "][" JAPANESE NONE "]*");
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        cr_put(&pattern, "|[\\p{%s}&&[^ \\x{30fc}]][[\\p{%s}&&[^ \\x{30fc}]]" NONE "]*", scripts[i],
               scripts[i]);
    part->pattern = cr_pattern_regex(pattern.data, pattern.length, where, error);
    part->behavior = CR_REMOVED;
    part->invert = true;
    free(pattern.data);
    (void)d;
    return part->pattern ? 0 : -1;
}
