/* Drawn formats of weights; see keeping.h. */
#include "keeping.h"

#include <stdio.h>
#include <string.h>

#include "compiler/passes/weights/arithmetics.h"
#include "compiler/passes/weights/formats.h"

static const char *const formats[] = {"bf16", "f16", "q8", "q4"};

struct cr_keeping cr_choose_keeping(struct cr_subject *s)
{
    struct cr_keeping keep = {"", NULL};
    int64_t way = cr_pick(s, 6);
    const char *format = formats[cr_pick(s, 4)];
    size_t room = sizeof keep.format;
    if (way < 2)
        return keep;
    if (way < 5)
        snprintf(keep.format, room, "%s", format);
    else
        snprintf(keep.format, room, "%s,*%d*=%s", format, (int)cr_pick(s, 4),
                 cr_pick(s, 2) ? "f32" : formats[cr_pick(s, 4)]);
    if (cr_pick(s, 3) == 0)
        keep.arithmetic = *format == 'q' ? "int8" : strcmp(format, "bf16") == 0 ? "bf16" : NULL;
    return keep;
}

int cr_keep_weights(struct cr_graph *g, const struct cr_keeping *keep, struct cr_error *error)
{
    int status = cr_want_formats(g, *keep->format ? keep->format : NULL, "g", error);
    return status ? status : cr_want_arithmetics(g, keep->arithmetic, "g", error);
}

bool cr_is_refused_rule(const struct cr_report *report)
{
    return strstr(report->text, "--format") || strstr(report->text, "--arithmetic");
}
