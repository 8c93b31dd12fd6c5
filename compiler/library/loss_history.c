/* loss_history.c - stores losses as sums over more and more steps; see loss_history.h. */
#include "loss_history.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "compiler/ir/mem.h"

enum { NUMBER_LENGTH = 32 /* the most characters of a number and a space */ };

void cr_history_free(struct cr_history *h)
{
    free(h->sums);
    free(h->validations);
    *h = (struct cr_history){0};
}

/* ---- adding losses ---- */

/* Replaces each pair of neighbouring sums by their sum.  The number of sums is even, and all of
 * them are complete. */
static void halve_sums(struct cr_history *h)
{
    for (int i = 0; i < h->n / 2; i++)
        h->sums[i] = h->sums[2 * i] + h->sums[2 * i + 1];
    h->n /= 2;
    h->width *= 2;
}

void cr_history_add(struct cr_history *h, double loss)
{
    if (!h->width)
        h->width = 1;
    if (h->n == CR_MAX_POINTS && h->steps == h->n * h->width)
        halve_sums(h);
    if (h->steps == h->n * h->width)
        *CR_PUSH(h->sums, h->n, h->cap) = 0;
    h->sums[h->n - 1] += loss;
    h->steps++;
}

/* Keeps every second validation, including the last one. */
static void thin_validations(struct cr_history *h)
{
    for (int i = 0; i < h->n_validations / 2; i++)
        h->validations[i] = h->validations[2 * i + 1];
    h->n_validations /= 2;
}

void cr_history_add_validation(struct cr_history *h, int64_t step, double loss)
{
    if (h->n_validations == CR_MAX_POINTS)
        thin_validations(h);
    *CR_PUSH(h->validations, h->n_validations, h->cap_validations) =
        (struct cr_loss_point){(double)step, loss};
}

/* ---- reading losses ---- */

bool cr_history_is_validated(const struct cr_history *h, int64_t step)
{
    return h->n_validations && h->validations[h->n_validations - 1].step == (double)step;
}

struct cr_loss_point cr_history_point(const struct cr_history *h, int i)
{
    int64_t begin = i * h->width, count = h->steps - begin;
    if (count > h->width)
        count = h->width;
    return (struct cr_loss_point){(double)(h->first + begin) + (double)(count + 1) / 2,
                                  h->sums[i] / (double)count};
}

/* ---- texts ---- */

/* Returns the text "FIRST WIDTH SUM SUM ...".  The number of steps is stored elsewhere in the
 * checkpoint. */
char *cr_history_losses_text(const struct cr_history *h)
{
    size_t room = ((size_t)h->n + 2) * NUMBER_LENGTH;
    char *text = cr_calloc(room, 1);
    int at = snprintf(text, room, "%" PRId64 " %" PRId64, h->first, h->width ? h->width : 1);
    for (int i = 0; i < h->n; i++)
        at += snprintf(text + at, room - (size_t)at, " %.17g", h->sums[i]);
    return text;
}

/* Returns the text "STEP LOSS STEP LOSS ...". */
char *cr_history_validations_text(const struct cr_history *h)
{
    size_t room = (size_t)h->n_validations * 2 * NUMBER_LENGTH + 1;
    char *text = cr_calloc(room, 1);
    int at = 0;
    for (int i = 0; i < h->n_validations; i++)
        at += snprintf(text + at, room - (size_t)at, "%s%.0f %.17g", i ? " " : "",
                       h->validations[i].step, h->validations[i].loss);
    return text;
}

/* Reads the next finite number and moves *text past it; returns false at the end, or if no number
 * follows. */
static bool next_number(const char **text, double *number)
{
    char *end;
    *number = strtod(*text, &end);
    bool found = end != *text && (*end == ' ' || !*end) && isfinite(*number);
    *text = end + (*end == ' ');
    return found;
}

/* Returns a number as an integer if it is one from 0 to `most`, else -1. */
static int64_t whole(double number, int64_t most)
{
    bool good = number >= 0 && number <= (double)most && number == floor(number);
    return good ? (int64_t)number : -1;
}

/* Parses the text of cr_history_losses_text; the number of sums follows from `steps`. */
static int parse_losses(struct cr_history *h, const char *text, int64_t steps)
{
    double first, width, sum;
    if (!next_number(&text, &first) || !next_number(&text, &width))
        return -1;
    h->first = whole(first, steps);
    h->width = whole(width, INT64_C(1) << 52);
    if (h->first < 0 || h->width < 1 || (h->width & (h->width - 1)))
        return -1;
    h->steps = steps - h->first;
    int64_t n = h->steps / h->width + (h->steps % h->width != 0);
    if (n > CR_MAX_POINTS)
        return -1;
    while (h->n < n && next_number(&text, &sum))
        *CR_PUSH(h->sums, h->n, h->cap) = sum;
    return h->n < n || *text ? -1 : 0;
}

static int parse_validations(struct cr_history *h, const char *text, int64_t steps)
{
    double step, loss, before = -1;
    while (*text) {
        if (!next_number(&text, &step) || !next_number(&text, &loss) || whole(step, steps) < 0 ||
            step <= before || h->n_validations == CR_MAX_POINTS)
            return -1;
        cr_history_add_validation(h, (int64_t)step, loss);
        before = step;
    }
    return 0;
}

int cr_history_parse(struct cr_history *h, const char *losses, const char *validations,
                     int64_t steps)
{
    *h = (struct cr_history){.first = steps};
    if (losses && parse_losses(h, losses, steps))
        return -1;
    return validations ? parse_validations(h, validations, steps) : 0;
}
