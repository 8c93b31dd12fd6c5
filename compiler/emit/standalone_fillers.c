/* standalone_fillers.c - prints functions that read weights in pieces; see standalone_fillers.h. */
#include "standalone_fillers.h"

/* Prints cr_main_fill_FORMAT for each format that some parameter has. */
static void put_functions(struct cr_text *t, const struct cr_program *p)
{
    for (int f = 0; f < CR_FORMAT_COUNT; f++)
        if (cr_has_layouts(p, (enum cr_format)f))
            cr_put(t,
                   "static void cr_main_fill_%s(const struct cr_runtime *rt, const struct cr_weight_layout *p,\n"
                   "    const float *tensor, void *weights)\n{\n    %s;\n}\n\n",
                   cr_formats[f].name, cr_formats[f].pack);
}

static void put_row(struct cr_text *t, const struct cr_program *p, enum cr_format format)
{
    int64_t block = 32 * cr_column_units(format, 32) * cr_formats[format].unit;
    cr_put(t, "    {");
    cr_put_layouts_name(t, format);
    cr_put(t, ", cr_main_fill_%s, %lldL", cr_formats[format].name, (long long)(block / (int64_t)sizeof(float)));
    if (p->ranks) {
        cr_put(t, ", begin_of_");
        cr_put_layouts_name(t, format);
    }
    cr_put(t, "},\n");
}

void cr_put_fillers(struct cr_text *t, const struct cr_standalone *w)
{
    const struct cr_program *p = w->p;
    put_functions(t, p);
    cr_put(t,
           "/* By format: its layouts, the function that packs a piece, and the size of 32 rows of a panel "
           "in floats. */\n"
           "static const struct cr_main_filler {\n    const struct cr_weight_layout *layouts;\n"
           "    void (*fill)(const struct cr_runtime *rt, const struct cr_weight_layout *p,\n"
           "                 const float *tensor, void *weights);\n    long block;\n%s"
           "} cr_main_fillers[] = {\n",
           p->ranks ? "    const int *begins; /* first layout of each rank */\n" : "");
    for (int f = 0; f < CR_FORMAT_COUNT; f++)
        if (cr_has_layouts(p, (enum cr_format)f))
            put_row(t, p, (enum cr_format)f);
    cr_put(t, "    {NULL, NULL, 0%s},\n};\n\n", p->ranks ? ", NULL" : "");
}
