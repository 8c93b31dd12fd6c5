/* post_processors.c - the kinds of post-processors; see post_processors.h. */
#include "post_processors.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

enum { MOST_IDS = 4096 };

static int check_id(int64_t id, const char *path, const char *where, struct cr_error *error)
{
    return id >= 0 && id <= INT32_MAX
               ? 0
               : cr_fail(error, "%s: %s: found the id %lld, expected one of the vocabulary", path,
                         where, (long long)id);
}

/* ---- TemplateProcessing ---- */

/* Appends an item to a template.  The caller checks that ids of special tokens are positive. */
static int add_item(struct cr_template *template, int64_t id, int64_t type, const char *path,
                    const char *where, struct cr_error *error)
{
    if (type < 0 || type > INT32_MAX)
        return cr_fail(error, "%s: %s: found the type_id %lld, expected a number of a segment", path,
                       where, (long long)type);
    if (template->n >= MOST_IDS)
        return cr_fail(error, "%s: %s: found more than %d ids around a text, expected fewer", path,
                       where, MOST_IDS);
    *CR_PUSH(template->items, template->n, template->cap) =
        (struct cr_template_item){(int32_t)id, (int32_t)type};
    return 0;
}

/* Appends the ids of the special token `name` to a template. */
static int add_special(struct cr_template *template, const struct cr_document *d, int specials,
                       const char *name, int64_t type, const char *where, struct cr_error *error)
{
    int special = cr_member(d, specials, name);
    if (special < 0)
        return cr_fail(error, "%s: %s: found the special token %.80s in the template, expected it in "
                              "special_tokens, too",
                       d->path, where, name);
    int ids = cr_need_member(d, special, where, "ids", CR_JSON_ARRAY, error);
    if (ids < 0)
        return -1;
    for (int i = d->values[ids].first; i >= 0; i = d->values[i].next) {
        if (d->values[i].kind != CR_JSON_INTEGER)
            return cr_fail(error, "%s: %s: found %s among ids, expected integers", d->path, where,
                           cr_kind_of_value(d, i));
        if (check_id(d->values[i].integer, d->path, where, error) ||
            add_item(template, d->values[i].integer, type, d->path, where, error))
            return -1;
    }
    return 0;
}

/* Reads an item of a template: {"SpecialToken": {"id": NAME, "type_id": N}} or {"Sequence": {"id":
 * "A" or "B", "type_id": N}}. */
static int read_item(struct cr_template *template, const struct cr_document *d, int item,
                     int specials, const char *where, struct cr_error *error)
{
    int special = cr_member(d, item, "SpecialToken"), text = cr_member(d, item, "Sequence");
    const char *name = NULL;
    int64_t type = 0;
    if (special < 0 && text < 0)
        return cr_fail(error, "%s: %s: found %s, expected a SpecialToken or a Sequence", d->path,
                       where, cr_kind_of_value(d, item));
    if (cr_read_string(d, special < 0 ? text : special, where, "id", &name, error) ||
        cr_read_integer(d, special < 0 ? text : special, where, "type_id", &type, error))
        return -1;
    name = name ? name : "";
    if (special >= 0)
        return add_special(template, d, specials, name, type, where, error);
    if (strcmp(name, "A") != 0 && strcmp(name, "B") != 0)
        return cr_fail(error, "%s: %s: found the Sequence %.80s, expected A or B", d->path, where, name);
    return add_item(template, *name == 'A' ? CR_FIRST_TEXT : CR_SECOND_TEXT, type, d->path, where,
                    error);
}

static int count_texts(const struct cr_template *template, int32_t text)
{
    int count = 0;
    for (int i = 0; i < template->n; i++)
        count += template->items[i].id == text;
    return count;
}

/* Reads the template for a single text or for a pair; `name` is "single" or "pair". */
static int read_list(struct cr_template *template, const struct cr_document *d, int object,
                     const char *where, const char *name, struct cr_error *error)
{
    int list = cr_need_member(d, object, where, name, CR_JSON_ARRAY, error);
    int specials = cr_member(d, object, "special_tokens");
    if (list < 0)
        return -1;
    for (int i = d->values[list].first; i >= 0; i = d->values[i].next)
        if (read_item(template, d, i, specials, where, error))
            return -1;
    return 0;
}

/* Sets the frame, the ids before and after a text, from the template for a single text. */
static void frame_single(struct cr_text_part *part)
{
    struct cr_frame *f = &part->frame;
    bool behind = false;
    for (int i = 0; i < part->single.n; i++) {
        int32_t id = part->single.items[i].id;
        if (id < 0)
            behind = true;
        else if (behind)
            *CR_PUSH(f->after, f->n_after, f->after_cap) = id;
        else
            *CR_PUSH(f->before, f->n_before, f->before_cap) = id;
    }
}

/* Reads both templates.  Fails unless "single" has the text exactly once.  A "pair" that does not
 * have both texts exactly once is ignored, so that pairs are refused but single texts are not. */
static int read_template(struct cr_text_part *part, const struct cr_document *d, int object,
                         const char *where, struct cr_error *error)
{
    if (read_list(&part->single, d, object, where, "single", error) ||
        (cr_member(d, object, "pair") >= 0 && read_list(&part->pair, d, object, where, "pair", error)))
        return -1;
    int first = count_texts(&part->single, CR_FIRST_TEXT), second = count_texts(&part->single, CR_SECOND_TEXT);
    if (first != 1 || second)
        return cr_fail(error, "%s: %s: found %d times A and %d times B in \"single\", expected A once", d->path, where,
                       first, second);
    if (count_texts(&part->pair, CR_FIRST_TEXT) != 1 || count_texts(&part->pair, CR_SECOND_TEXT) != 1)
        part->pair.n = 0;
    frame_single(part);
    return 0;
}

/* ---- BertProcessing, RobertaProcessing ---- */

/* Reads a member ["TEXT", ID] into *out. */
static int read_special(int32_t *out, const struct cr_document *d, int object, const char *where,
                        const char *name, struct cr_error *error)
{
    int list = cr_need_member(d, object, where, name, CR_JSON_ARRAY, error);
    int id = list < 0 || d->values[list].count != 2 ? CR_NO_VALUE
                                                    : d->values[d->values[list].first].next;
    if (list < 0)
        return -1;
    if (id < 0 || d->values[id].kind != CR_JSON_INTEGER)
        return cr_fail(error, "%s: %s: found no id in \"%s\", expected [\"TEXT\", ID]", d->path,
                       where, name);
    if (check_id(d->values[id].integer, d->path, where, error))
        return -1;
    *out = (int32_t)d->values[id].integer;
    return 0;
}

static void put_items(struct cr_template *template, const struct cr_template_item *items, int n)
{
    for (int i = 0; i < n; i++)
        *CR_PUSH(template->items, template->n, template->cap) = items[i];
}

/* Makes BERT's templates: [CLS] A [SEP] B [SEP].  B and the last [SEP] get type 1. */
static int read_bert(struct cr_text_part *part, const struct cr_document *d, int object,
                     const char *where, struct cr_error *error)
{
    int32_t cls, sep;
    if (read_special(&cls, d, object, where, "cls", error) ||
        read_special(&sep, d, object, where, "sep", error))
        return -1;
    const struct cr_template_item items[] = {
        {cls, 0}, {CR_FIRST_TEXT, 0}, {sep, 0}, {CR_SECOND_TEXT, 1}, {sep, 1}};
    put_items(&part->single, items, 3);
    put_items(&part->pair, items, 5);
    frame_single(part);
    return 0;
}

/* Makes RoBERTa's templates: <s> A </s> </s> B </s>.  All ids get type 0. */
static int read_roberta(struct cr_text_part *part, const struct cr_document *d, int object,
                        const char *where, struct cr_error *error)
{
    int32_t cls, sep;
    if (read_special(&cls, d, object, where, "cls", error) ||
        read_special(&sep, d, object, where, "sep", error))
        return -1;
    const struct cr_template_item items[] = {{cls, 0}, {CR_FIRST_TEXT, 0},  {sep, 0},
                                             {sep, 0}, {CR_SECOND_TEXT, 0}, {sep, 0}};
    put_items(&part->single, items, 3);
    put_items(&part->pair, items, 6);
    frame_single(part);
    return 0;
}

/* ---- the table ---- */

/* ByteLevel only changes the offsets of tokens in the text, which are not computed here. */
static const struct cr_part_kind kinds[] = {
    {.type = "TemplateProcessing", .read = read_template},
    {.type = "ByteLevel"},
    {.type = "BertProcessing", .read = read_bert},
    {.type = "RobertaProcessing", .read = read_roberta},
};

const struct cr_part_table cr_post_processors = {"post_processor", "processors", kinds,
                                                 sizeof kinds / sizeof *kinds};

struct cr_frame cr_frame_of(const struct cr_text_parts *parts)
{
    struct cr_frame all = {0};
    for (int i = parts->n - 1; i >= 0; i--)
        for (int k = 0; k < parts->items[i].frame.n_before; k++)
            *CR_PUSH(all.before, all.n_before, all.before_cap) = parts->items[i].frame.before[k];
    for (int i = 0; i < parts->n; i++)
        for (int k = 0; k < parts->items[i].frame.n_after; k++)
            *CR_PUSH(all.after, all.n_after, all.after_cap) = parts->items[i].frame.after[k];
    return all;
}

/* Appends an id to a template, unless it is CR_NO_TOKEN. */
static void put_item(struct cr_template *template, int32_t id, int32_t type)
{
    if (id != CR_NO_TOKEN)
        put_items(template, &(struct cr_template_item){id, type}, 1);
}

/* Appends the items for texts without put_item, since CR_FIRST_TEXT equals CR_NO_TOKEN. */
void cr_add_pair_template(struct cr_text_parts *parts, const struct cr_pair_template *p)
{
    static const struct cr_template_item a = {CR_FIRST_TEXT, 0};
    struct cr_text_part *part = cr_add_part(parts, &cr_post_processors, "TemplateProcessing");
    put_item(&part->single, p->cls, p->first_type);
    put_items(&part->single, &a, 1);
    put_item(&part->single, p->sep, 0);
    put_items(&part->pair, part->single.items, p->separators ? part->single.n : 0);
    if (p->separators) {
        put_item(&part->pair, p->separators == 2 ? p->sep : CR_NO_TOKEN, 0);
        put_items(&part->pair, &(struct cr_template_item){CR_SECOND_TEXT, p->second_type}, 1);
        put_item(&part->pair, p->sep, p->second_type);
    }
    frame_single(part);
}

/* ---- templates of all parts together ---- */

static void copy_template(struct cr_template *to, const struct cr_template *from)
{
    put_items(to, from->items, from->n);
}

/* Makes the template of a single text from the ids of a frame. */
static void single_of_frame(struct cr_template *single, const struct cr_frame *frame)
{
    for (int i = 0; i < frame->n_before; i++)
        put_items(single, &(struct cr_template_item){frame->before[i], 0}, 1);
    put_items(single, &(struct cr_template_item){CR_FIRST_TEXT, 0}, 1);
    for (int i = 0; i < frame->n_after; i++)
        put_items(single, &(struct cr_template_item){frame->after[i], 0}, 1);
}

void cr_templates_of(const struct cr_text_parts *parts, const struct cr_frame *frame,
                     struct cr_template *single, struct cr_template *pair)
{
    static const struct cr_template_item both[] = {{CR_FIRST_TEXT, 0}, {CR_SECOND_TEXT, 1}};
    const struct cr_text_part *only = NULL;
    int framing = 0;
    for (int i = 0; i < parts->n; i++) {
        const struct cr_text_part *part = &parts->items[i];
        bool frames = part->single.n > 0 || part->frame.n_before + part->frame.n_after > 0;
        framing += frames;
        only = frames ? part : only;
    }
    if (framing == 1 && only->single.n > 0)
        copy_template(single, &only->single);
    else
        single_of_frame(single, frame);
    if (framing == 0)
        put_items(pair, both, 2);
    else if (framing == 1)
        copy_template(pair, &only->pair);
}
