#include "named_sizes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "identifiers.h"
#include "intern.h"
#include "runtime/types.h"

/* By cr_tile_axis, and by level: the parts of the names of the sizes of tiles. */
static const char *const axes[] = {"ROWS", "COLUMNS", "QUERIES", "KEYS", "HEADS", "DEPTH"};
static const char *const levels[] = {"", "STEP_", "PART_", "PARTS_OF_"};

struct cr_named_sizes *cr_named_sizes_new(void)
{
    struct cr_named_sizes *sizes = cr_calloc(1, sizeof *sizes);
    sizes->names[CR_NAME_PANEL] = (struct cr_size_name){"CR_PANEL", "", CR_PANEL};
    sizes->names[CR_NAME_AHEAD] = (struct cr_size_name){"CR_AHEAD", "", 0};
    for (int i = 0; i < CR_TILE_NAMES; i++)
        snprintf(sizes->names[CR_NAME_TILES + i].text, CR_SIZE_NAME, "K%c_%s%s", CR_KERNEL_MARK,
                 levels[i % CR_TILE_LEVELS], axes[i / CR_TILE_LEVELS]);
    sizes->n_names = CR_OPTION_NAMES;
    sizes->users = 1;
    return sizes;
}

void cr_named_sizes_drop(struct cr_named_sizes *sizes)
{
    if (!sizes || --sizes->users)
        return;
    for (int i = 0; i < sizes->n_facts; i++)
        free((char *)sizes->facts[i].name);
    free(sizes->facts);
    free(sizes->sizes);
    free(sizes);
}

void cr_name_ranks(struct cr_named_sizes *sizes, int ranks)
{
    for (int i = 0; i < sizes->n_names; i++)
        if (strcmp(sizes->names[i].text, "RANKS") == 0)
            return;
    if (sizes->n_names == CR_MAX_SIZE_NAMES)
        return;
    sizes->ranks_name = sizes->n_names++;
    sizes->names[sizes->ranks_name] = (struct cr_size_name){"RANKS", "", ranks};
}

void cr_take_named_sizes(struct cr_graph *g, struct cr_named_sizes *sizes)
{
    g->interned->sizes = sizes;
}

struct cr_named_sizes *cr_named_sizes_of(const struct cr_graph *g)
{
    return g->interned->sizes;
}

/* ---- products ---- */

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Multiplies *product by a factor; returns false if the result exceeds an int, because C computes
 * products of names in int. */
static bool multiply(int64_t *product, int64_t factor)
{
    if (factor <= 0 || *product > INT32_MAX / factor)
        return false;
    *product *= factor;
    return true;
}

/* Sets *above to the product of the names with positive powers and *below to that of the names
 * with negative powers. */
static bool multiply_names(const struct cr_named_sizes *sizes, const struct cr_named_size *size,
                           int64_t *above, int64_t *below)
{
    *above = *below = 1;
    for (int i = 0; i < sizes->n_names; i++)
        for (int p = abs(size->power[i]); p > 0; p--)
            if (!multiply(size->power[i] > 0 ? above : below, sizes->names[i].value))
                return false;
    return true;
}

int cr_size_of_powers(struct cr_named_sizes *sizes, struct cr_named_size size)
{
    int64_t above, below;
    for (int i = 0; i < sizes->n_names; i++)
        if (sizes->names[i].value == 1 && size.power[i]) /* a name of value 1 stands alone, never
                                                          * as a factor of a product */
            size.power[i] = size.value == 1 && size.power[i] > 0;
    if (size.value <= 0 || !multiply_names(sizes, &size, &above, &below) ||
        !multiply(&below, size.value))
        return 0;
    int64_t common = common_divisor(below, above);
    size.number = below / common;
    size.divisor = above / common;
    if (!multiply(&above, size.number))
        return 0;
    for (int i = 0; i < sizes->n_sizes; i++)
        if (sizes->sizes[i].value == size.value && sizes->sizes[i].number == size.number &&
            sizes->sizes[i].divisor == size.divisor &&
            memcmp(sizes->sizes[i].power, size.power, sizeof size.power) == 0)
            return i + 1;
    *CR_PUSH(sizes->sizes, sizes->n_sizes, sizes->cap_sizes) = size;
    return sizes->n_sizes;
}

int cr_plain_size(struct cr_named_sizes *sizes, int64_t value)
{
    return cr_size_of_powers(sizes, (struct cr_named_size){.value = value});
}

int cr_size_of_name(struct cr_named_sizes *sizes, int name)
{
    struct cr_named_size size = {.value = sizes->names[name].value};
    size.power[name] = 1;
    return cr_size_of_powers(sizes, size);
}

int cr_size_product(struct cr_named_sizes *sizes, int a, int b)
{
    if (!a || !b)
        return 0;
    struct cr_named_size product = sizes->sizes[a - 1];
    const struct cr_named_size *factor = &sizes->sizes[b - 1];
    if (!multiply(&product.value, factor->value))
        return 0;
    for (int i = 0; i < sizes->n_names; i++)
        product.power[i] = (signed char)(product.power[i] + factor->power[i]);
    return cr_size_of_powers(sizes, product);
}

int cr_size_quotient(struct cr_named_sizes *sizes, int a, int b)
{
    if (!a || !b || sizes->sizes[a - 1].value % sizes->sizes[b - 1].value)
        return 0;
    struct cr_named_size quotient = sizes->sizes[a - 1];
    const struct cr_named_size *divisor = &sizes->sizes[b - 1];
    quotient.value /= divisor->value;
    for (int i = 0; i < sizes->n_names; i++)
        quotient.power[i] = (signed char)(quotient.power[i] - divisor->power[i]);
    return cr_size_of_powers(sizes, quotient);
}

bool cr_is_named(const struct cr_named_sizes *sizes, int size)
{
    for (int i = 0; size && i < sizes->n_names; i++)
        if (sizes->sizes[size - 1].power[i])
            return true;
    return false;
}

/* Returns the sum of two sizes as a number times the names that they have in common; 0 if they
 * have no name in common. */
static int sum_of_two(struct cr_named_sizes *sizes, int a, int b)
{
    if (!a || !b)
        return 0;
    struct cr_named_size common = sizes->sizes[a - 1];
    const struct cr_named_size *other = &sizes->sizes[b - 1];
    int64_t above, below, sum = common.value + other->value;
    for (int i = 0; i < sizes->n_names; i++)
        if (other->power[i] < common.power[i])
            common.power[i] = other->power[i];
    if (!multiply_names(sizes, &common, &above, &below) || above % below)
        return 0;
    common.value = above / below;
    int factor = cr_size_of_powers(sizes, common);
    if (!cr_is_named(sizes, factor) || sum % common.value || other->value % common.value)
        return 0;
    return cr_size_product(sizes, factor, cr_plain_size(sizes, sum / common.value));
}

/* The different terms of a sum, and how often each of them occurs. */
enum { MAX_TERMS = 4 };

struct terms {
    int size[MAX_TERMS], times[MAX_TERMS], n;
};

/* Collects the named terms of a sum in *t, and adds the values of the others to *number.  Returns
 * false if a term is unknown (0), or if more than MAX_TERMS terms differ. */
static bool collect_terms(const struct cr_named_sizes *sizes, struct terms *t, const int *terms, int n,
                          int64_t *number)
{
    *t = (struct terms){.n = 0};
    for (int i = 0; i < n; i++) {
        int at = 0;
        if (terms[i] && !cr_is_named(sizes, terms[i])) {
            *number += sizes->sizes[terms[i] - 1].value;
            continue;
        }
        while (at < t->n && t->size[at] != terms[i])
            at++;
        if (!terms[i] || at == MAX_TERMS)
            return false;
        t->n += at == t->n;
        t->size[at] = terms[i];
        t->times[at]++;
    }
    return true;
}

/* Returns the size that stands for a sum by a name of its own; finds the name by the sum's text,
 * or adds a name. */
static int size_of_sum(struct cr_named_sizes *sizes, const char *text, int64_t value)
{
    int same = 1, at = CR_OPTION_NAMES;
    for (; at < sizes->n_names && strcmp(sizes->names[at].sum, text) != 0; at++)
        same += *sizes->names[at].sum && sizes->names[at].value == value;
    if (at == CR_MAX_SIZE_NAMES)
        return 0;
    struct cr_size_name *name = &sizes->names[at];
    if (at == sizes->n_names) {
        sizes->n_names++;
        *name = (struct cr_size_name){.value = value};
        snprintf(name->sum, sizeof name->sum, "%s", text);
        snprintf(name->text, sizeof name->text, same > 1 ? "SIZE_%lld_%d" : "SIZE_%lld", (long long)value, same);
    }
    return cr_size_of_name(sizes, at);
}

/* Writes a sum with its terms in order, such as "N_EXPERTS + 8 * D_FF", and adds its value to
 * *value.  Returns false if the text does not fit or if the value exceeds an int. */
static bool put_sum(struct cr_named_sizes *sizes, const struct terms *t, int64_t number, char text[CR_SIZE_SUM],
                    int64_t *value)
{
    char term[512];
    size_t n = 0;
    for (int i = 0; i < t->n && n < CR_SIZE_SUM; i++) {
        int size = cr_size_product(sizes, t->size[i], cr_plain_size(sizes, t->times[i]));
        if (!size)
            return false;
        cr_size_text(sizes, size, term, sizeof term);
        n += (size_t)snprintf(text + n, CR_SIZE_SUM - n, "%s%s", i ? " + " : "", term);
        *value += sizes->sizes[size - 1].value;
    }
    if (number && n < CR_SIZE_SUM)
        n += (size_t)snprintf(text + n, CR_SIZE_SUM - n, number < 0 ? " - %lld" : " + %lld", llabs((long long)number));
    *value += number;
    return n < CR_SIZE_SUM && *value > 0 && *value <= INT32_MAX;
}

int cr_size_sum(struct cr_named_sizes *sizes, const int *terms, int n, int64_t number)
{
    struct terms t;
    char text[CR_SIZE_SUM];
    int sum = n ? terms[0] : 0;
    int64_t value = 0;
    bool named = false;
    for (int i = 1; i < n; i++)
        sum = sum_of_two(sizes, sum, terms[i]);
    for (int i = 0; i < n; i++)
        named |= cr_is_named(sizes, terms[i]);
    if ((sum && !number) || !named)
        return number ? 0 : sum;
    if (!collect_terms(sizes, &t, terms, n, &number) || !put_sum(sizes, &t, number, text, &value))
        return 0;
    return size_of_sum(sizes, text, value);
}

/* ---- facts ---- */

/* Adds a fact.  Marks the fact as ambiguous if an earlier node of the same shape has other named
 * sizes. */
static void add_fact(struct cr_named_sizes *sizes, const char *name, const struct cr_node *node,
                     const int axes[CR_MAX_RANK])
{
    for (int i = 0; !name && i < sizes->n_facts; i++) {
        struct cr_size_fact *fact = &sizes->facts[i];
        if (fact->name || fact->rank != node->rank ||
            memcmp(fact->shape, node->shape, sizeof fact->shape) != 0)
            continue;
        fact->ambiguous |= memcmp(fact->sizes, axes, sizeof fact->sizes) != 0;
        return;
    }
    struct cr_size_fact *fact = CR_PUSH(sizes->facts, sizes->n_facts, sizes->cap_facts);
    *fact = (struct cr_size_fact){.name = name ? cr_strdup(name) : NULL, .rank = node->rank};
    memcpy(fact->shape, node->shape, sizeof fact->shape);
    memcpy(fact->sizes, axes, sizeof fact->sizes);
}

void cr_add_size_fact(struct cr_named_sizes *sizes, const struct cr_node *node,
                      const int axes[CR_MAX_RANK])
{
    if (cr_is_interface(node))
        add_fact(sizes, node->name, node, axes);
    add_fact(sizes, NULL, node, axes);
}

/* ---- text ---- */

/* Appends a factor to a product; `sign`, " * " or " / ", precedes every factor but the first. */
static void put_factor(char *text, size_t bytes, const char *sign, const char *factor)
{
    size_t n = strlen(text);
    snprintf(text + n, bytes - n, "%s%s", n ? sign : "", factor);
}

/* Writes a size as number / divisor times powers of names; returns the number of factors.
 * `more`, an additional name or null, comes after the other names, and CR_PANEL last. */
static int put_powers(const struct cr_named_sizes *sizes, const struct cr_named_size *s,
                      const char *more, char *text, size_t bytes)
{
    int above = more != NULL, factors;
    char number[32];
    text[0] = '\0';
    for (int i = 0; i < sizes->n_names; i++)
        above += s->power[i] > 0 ? s->power[i] : 0;
    factors = above;
    snprintf(number, sizeof number, "%lld", (long long)s->number);
    if (s->number > 1 || !above)
        put_factor(text, bytes, " * ", number), factors++;
    for (int i = 1; i <= sizes->n_names; i++) {
        if (i == sizes->n_names && more)
            put_factor(text, bytes, " * ", more);
        for (int p = s->power[i % sizes->n_names]; p > 0; p--)
            put_factor(text, bytes, " * ", sizes->names[i % sizes->n_names].text);
    }
    for (int i = 0; i < sizes->n_names; i++)
        for (int p = s->power[i]; p < 0; p++, factors++)
            put_factor(text, bytes, " / ", sizes->names[i].text);
    snprintf(number, sizeof number, "%lld", (long long)s->divisor);
    if (s->divisor > 1)
        put_factor(text, bytes, " / ", number), factors++;
    return factors;
}

/* Sets *rest to a size divided by the size HEAD_DIM; returns false if the model has no head
 * dimension. */
static bool take_head_dim(const struct cr_named_sizes *sizes, const struct cr_named_size *s,
                          struct cr_named_size *rest)
{
    if (!sizes->head_dim)
        return false;
    const struct cr_named_size *head = &sizes->sizes[sizes->head_dim - 1];
    int64_t above = s->number * head->divisor, below = s->divisor * head->number;
    int64_t common = common_divisor(above, below);
    *rest = (struct cr_named_size){.number = above / common, .divisor = below / common};
    for (int i = 0; i < sizes->n_names; i++)
        rest->power[i] = (signed char)(s->power[i] - head->power[i]);
    return true;
}

/* Writes the size as a multiple of HEAD_DIM where that product is shorter. */
int cr_size_text(const struct cr_named_sizes *sizes, int size, char *text, size_t bytes)
{
    const struct cr_named_size *s = &sizes->sizes[size - 1];
    struct cr_named_size rest;
    int factors = put_powers(sizes, s, NULL, text, bytes);
    if (factors == 1 || !take_head_dim(sizes, s, &rest))
        return factors;
    char shorter[512];
    int fewer = put_powers(sizes, &rest, CR_HEAD_DIM, shorter, sizeof shorter);
    if (fewer >= factors)
        return factors;
    snprintf(text, bytes, "%s", shorter);
    return fewer;
}

void cr_put_kernel_number(char *to, size_t bytes, const char *text, int kernel)
{
    char number[16];
    size_t digits = (size_t)snprintf(number, sizeof number, "%d", kernel), n = 0;
    for (; *text && n + digits < bytes; text++) {
        memcpy(to + n, *text == CR_KERNEL_MARK ? number : text, *text == CR_KERNEL_MARK ? digits : 1);
        n += *text == CR_KERNEL_MARK ? digits : 1;
    }
    to[n] = '\0';
}

void cr_axis_text(const struct cr_length *length, const struct cr_named_sizes *sizes, int size, int64_t number,
                  char *text, size_t bytes)
{
    if (length)
        cr_plain_text(text, bytes, length->name);
    else if (size)
        cr_size_text(sizes, size, text, bytes);
    else
        snprintf(text, bytes, "%lld", (long long)number);
}
