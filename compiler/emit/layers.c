#include "layers.h"

#include <assert.h>

/* Iterations begin .. end - 1 of a loop, whose places are to be printed. */
struct range {
    struct cr_text *text;
    const struct cr_layers *layers;
    const struct cr_storage *places;
    const char *cast; /* of a pointer into the arena, where no floats lie */
    int begin, end;
};

/* ---- what places have in common ---- */

static bool is_one_space(const struct range *r)
{
    for (int i = r->begin; i < r->end; i++)
        if (r->places[i].space != r->places[r->begin].space)
            return false;
    return true;
}

/* Whether the places repeat after `period` iterations but for a step, the same for all. */
static bool repeats(const struct range *r, int period, int64_t step)
{
    for (int i = r->begin; i + period < r->end; i++)
        if (r->places[i + period].offset - r->places[i].offset != step)
            return false;
    return true;
}

/* From one iteration to the next. */
static int64_t first_step(const struct range *r)
{
    return r->end - r->begin < 2 ? 0 : r->places[r->begin + 1].offset - r->places[r->begin].offset;
}

static bool is_even(const struct range *r)
{
    return is_one_space(r) && repeats(r, 1, first_step(r));
}

/* Whether there are two places, used in turns. */
static bool takes_turns(const struct range *r)
{
    return is_one_space(r) && repeats(r, 2, 0);
}

static bool is_simple(const struct range *r)
{
    return is_even(r) || takes_turns(r);
}

int64_t cr_layer_stride(const struct cr_layers *layers, const struct cr_storage *places)
{
    const struct range all = {NULL, layers, places, "", 0, cr_n_places(layers)};
    return layers->loop && is_even(&all) ? first_step(&all) * layers->loop->direction : 0;
}

/* ---- expressions ---- */

static int layer_of(const struct range *r, int iteration)
{
    return r->layers->loop ? cr_layer_of(r->layers->loop, iteration) : 0;
}

/* " + 5", " - 5", or nothing. */
static void print_plus(struct cr_text *t, int64_t number)
{
    if (number)
        cr_put(t, " %c %lld", number < 0 ? '-' : '+', (long long)(number < 0 ? -number : number));
}

/* "start + layer * stride". */
static void print_linear(struct cr_text *t, int64_t start, int64_t stride)
{
    long long way = stride < 0 ? -stride : stride;
    if (start || !stride)
        cr_put(t, "%lld", (long long)start);
    if (stride)
        cr_put(t, "%s", !start && stride > 0 ? "" : !start ? "-" : stride > 0 ? " + " : " - ");
    if (stride)
        cr_put(t, way == 1 ? "layer" : "layer * %lld", way);
}

/* What goes before and behind the number of a place. */
static void print_open(const struct range *r)
{
    static const char *const open[] = {[CR_SPACE_NONE] = "",
                                       [CR_SPACE_ARENA] = "arena + ",
                                       [CR_SPACE_WEIGHTS] = "weights + ",
                                       [CR_SPACE_INPUT] = "inputs[",
                                       [CR_SPACE_OUTPUT] = "outputs["};
    enum cr_space space = r->places[r->begin].space;
    cr_put(r->text, "%s%s", space == CR_SPACE_ARENA ? r->cast : "", open[space]);
}

static void print_close(const struct range *r)
{
    enum cr_space space = r->places[r->begin].space;
    if (space == CR_SPACE_INPUT || space == CR_SPACE_OUTPUT)
        cr_put(r->text, "]");
}

/* A place that is the same for all layers. */
static void print_place(const struct range *r)
{
    const struct cr_storage *place = &r->places[r->begin];
    if (place->space == CR_SPACE_ARENA || place->space == CR_SPACE_WEIGHTS) {
        cr_put(r->text, "%s", place->space == CR_SPACE_ARENA ? r->cast : "");
        cr_put(r->text, place->space == CR_SPACE_ARENA ? "arena" : "weights");
        print_plus(r->text, place->offset);
        return;
    }
    if (place->space == CR_SPACE_INPUT || place->space == CR_SPACE_OUTPUT) {
        bool input = place->space == CR_SPACE_INPUT;
        (input ? r->layers->inputs : r->layers->outputs)[place->offset] = true;
        cr_put(r->text, input ? "in" : "out");
    }
    cr_put(r->text, "%lld", (long long)place->offset);
}

/* Places at equal distances. */
static void print_even(const struct range *r)
{
    const struct cr_layers *l = r->layers;
    int64_t stride = l->loop ? first_step(r) * l->loop->direction : 0;
    int64_t start = r->places[r->begin].offset - stride * layer_of(r, r->begin);
    enum cr_space space = r->places[r->begin].space;
    if (!stride) {
        print_place(r);
    } else if ((space == CR_SPACE_ARENA && stride == l->arena_stride) ||
               (space == CR_SPACE_WEIGHTS && stride == l->weights_stride)) {
        cr_put(r->text, "%s", space == CR_SPACE_ARENA ? r->cast : "");
        cr_put(r->text, space == CR_SPACE_ARENA ? CR_LAYER_ARENA : CR_LAYER_WEIGHTS);
        print_plus(r->text, start);
    } else {
        print_open(r);
        print_linear(r->text, start, stride);
        print_close(r);
    }
}

/* Two places in turns. */
static void print_turns(const struct range *r)
{
    bool odd = layer_of(r, r->begin) % 2;
    print_open(r);
    cr_put(r->text, "(layer %% 2 ? %lld : %lld)", (long long)r->places[r->begin + !odd].offset,
           (long long)r->places[r->begin + odd].offset);
    print_close(r);
}

/* The places in the order of the layers, and which of them is this layer's. */
static void print_table(const struct range *r)
{
    bool up = r->layers->loop->direction > 0;
    print_open(r);
    cr_put(r->text, "(const long[]){");
    for (int i = 0; i < r->end - r->begin; i++)
        cr_put(r->text, "%s%lld", i ? ", " : "",
               (long long)r->places[up ? r->begin + i : r->end - 1 - i].offset);
    cr_put(r->text, "}[layer");
    print_plus(r->text, -(int64_t)layer_of(r, up ? r->begin : r->end - 1));
    cr_put(r->text, "]");
    print_close(r);
}

/* "layer == 3 ? ": the place of one iteration, before those of the others. */
static void print_exception(const struct range *r, int iteration)
{
    struct range one = *r;
    one.begin = iteration;
    one.end = iteration + 1;
    cr_put(r->text, "layer == %d ? ", layer_of(r, iteration));
    print_even(&one);
    cr_put(r->text, " : ");
}

/* Leaves out as few ends as will do, so that `least` are left; false if none will. */
static bool leave_out(struct range *rest, const struct range *all, int least,
                      bool (*is_fine)(const struct range *))
{
    for (int ends = 0; ends < 4; ends++) {
        *rest = *all;
        rest->begin += ends & 1;
        rest->end -= ends >> 1;
        if ((ends == 0 || rest->end - rest->begin >= least) && is_fine(rest))
            return true;
    }
    return false;
}

void cr_print_layers(struct cr_text *text, const struct cr_layers *layers,
                     const struct cr_storage *places, enum cr_dtype dtype)
{
    const char *cast = dtype == CR_I32 ? "(int *)" : "";
    const struct range all = {text, layers, places, cast, 0, cr_n_places(layers)};
    struct range rest;
    bool found = leave_out(&rest, &all, 3, is_simple) || leave_out(&rest, &all, 1, is_one_space);
    assert(found); /* outline saw to it */
    (void)found;
    if (rest.begin > all.begin)
        print_exception(&all, all.begin);
    if (rest.end < all.end)
        print_exception(&all, all.end - 1);
    if (is_even(&rest))
        print_even(&rest);
    else if (takes_turns(&rest))
        print_turns(&rest);
    else
        print_table(&rest);
}
