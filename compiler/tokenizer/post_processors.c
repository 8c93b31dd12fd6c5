/* post_processors.c - the kinds of post-processors; see post_processors.h. */
#include "post_processors.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

enum { MOST_IDS = 4096 };

/* Adds an id before the text, or behind it. */
static int add_id(struct cr_frame *frame, bool behind, int64_t id, const char *path,
                  const char *where, struct cr_error *error)
{
    if (id < 0 || id > INT32_MAX)
        return cr_fail(error, "%s: %s: found the id %lld, expected one of the vocabulary", path,
                       where, (long long)id);
    if (frame->n_before + frame->n_after >= MOST_IDS)
        return cr_fail(error, "%s: %s: found more than %d ids around a text, expected fewer", path,
                       where, MOST_IDS);
    if (behind)
        *CR_PUSH(frame->after, frame->n_after, frame->after_cap) = (int32_t)id;
    else
        *CR_PUSH(frame->before, frame->n_before, frame->before_cap) = (int32_t)id;
    return 0;
}

/* ---- TemplateProcessing ---- */

/* Appends the ids of a special token, named in the template. */
static int add_special(struct cr_text_part *part, const struct cr_document *d, int specials,
                       const char *name, bool behind, const char *where, struct cr_error *error)
{
    int special = cr_member(d, specials, name);
    if (special < 0)
        return cr_fail(error, "%s: %s: found no special token %.80s, expected it among them",
                       d->path, where, name);
    int ids = cr_need_member(d, special, where, "ids", CR_JSON_ARRAY, error);
    if (ids < 0)
        return -1;
    for (int i = d->values[ids].first; i >= 0; i = d->values[i].next) {
        if (d->values[i].kind != CR_JSON_INTEGER)
            return cr_fail(error, "%s: %s: found %s among ids, expected integers", d->path, where,
                           cr_kind_of_value(d, i));
        if (add_id(&part->frame, behind, d->values[i].integer, d->path, where, error))
            return -1;
    }
    return 0;
}

/* Reads the template of a single text: [{"SpecialToken": {"id": ...}}, {"Sequence": {"id":
 * "A"}}]. */
static int read_template(struct cr_text_part *part, const struct cr_document *d, int object,
                         const char *where, struct cr_error *error)
{
    int single = cr_need_member(d, object, where, "single", CR_JSON_ARRAY, error);
    int specials = cr_member(d, object, "special_tokens"), texts = 0;
    if (single < 0)
        return -1;
    for (int i = d->values[single].first; i >= 0; i = d->values[i].next) {
        int special = cr_member(d, i, "SpecialToken");
        const char *name = NULL;
        if (special < 0 && cr_member(d, i, "Sequence") < 0)
            return cr_fail(error, "%s: %s: found %s, expected a SpecialToken or a Sequence",
                           d->path, where, cr_kind_of_value(d, i));
        texts += special < 0;
        if (special < 0)
            continue;
        if (cr_read_string(d, special, where, "id", &name, error) ||
            add_special(part, d, specials, name ? name : "", texts > 0, where, error))
            return -1;
    }
    return texts == 1 ? 0
                      : cr_fail(error, "%s: %s: found %d Sequences in \"single\", expected one",
                                d->path, where, texts);
}

/* ---- BertProcessing, RobertaProcessing ---- */

/* Reads a member ["TEXT", ID]. */
static int read_pair(struct cr_text_part *part, const struct cr_document *d, int object,
                     const char *where, const char *name, bool behind, struct cr_error *error)
{
    int pair = cr_need_member(d, object, where, name, CR_JSON_ARRAY, error);
    int id = pair < 0 || d->values[pair].count != 2 ? CR_NO_VALUE
                                                    : d->values[d->values[pair].first].next;
    if (pair < 0)
        return -1;
    if (id < 0 || d->values[id].kind != CR_JSON_INTEGER)
        return cr_fail(error, "%s: %s: found no id in \"%s\", expected [\"TEXT\", ID]", d->path,
                       where, name);
    return add_id(&part->frame, behind, d->values[id].integer, d->path, where, error);
}

static int read_ends(struct cr_text_part *part, const struct cr_document *d, int object,
                     const char *where, struct cr_error *error)
{
    return read_pair(part, d, object, where, "cls", false, error) ||
                   read_pair(part, d, object, where, "sep", true, error)
               ? -1
               : 0;
}

/* ---- the table ---- */

/* ByteLevel changes only the offsets of tokens in the text, which are not computed here. */
static const struct cr_part_kind kinds[] = {
    {.type = "TemplateProcessing", .read = read_template},
    {.type = "ByteLevel"},
    {.type = "BertProcessing", .read = read_ends},
    {.type = "RobertaProcessing", .read = read_ends},
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
