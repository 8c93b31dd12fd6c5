/* generator_ports.c - see generator_ports.h. */
#include "generator_ports.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/exec/weight_files.h"
#include "compiler/ir/incremental.h"
#include "compiler/json/config_file.h"
#include "gguf_model.h"

/* Finds the ports of the ids, of their number and of the logits.  Fails if there are other inputs,
 * or no logits. */
static int find_ports(struct cr_generator_ports *g, const struct cr_ports *p, const char *path,
                      struct cr_error *error)
{
    g->ids = cr_port_find(p->inputs, p->n_inputs, CR_IDS);
    g->n = cr_port_find(p->inputs, p->n_inputs, CR_TOKENS);
    g->logits = cr_port_find(p->outputs, p->n_outputs, CR_LOGITS);
    if (g->logits == CR_NONE && p->n_outputs == 1)
        g->logits = 0;
    for (int i = 0; i < p->n_inputs; i++)
        if (i != g->ids && i != g->n && !p->inputs[i].state)
            return cr_fail(error,
                           "%.400s: input %.100s, expected no input but ids of a model that "
                           "generates",
                           path, p->inputs[i].name);
    if (g->logits == CR_NONE || p->outputs[g->logits].rank != 3 ||
        p->outputs[g->logits].dtype != CR_F32)
        return cr_fail(error,
                       "%.400s: no output logits [texts, tokens, vocabulary], expected one of a "
                       "model that generates",
                       path);
    return 0;
}

int cr_find_generator_ports(struct cr_generator_ports *g, const struct cr_ports *p, bool all_logits,
                            const char *path, struct cr_error *error)
{
    char shape[224];
    if (find_ports(g, p, path, error))
        return -1;
    const struct cr_port *ids = &p->inputs[g->ids], *logits = &p->outputs[g->logits];
    g->texts = ids->shape[0];
    g->bound = ids->shape[1];
    g->rows = logits->shape[1];
    g->vocabulary = logits->shape[2];
    if (logits->shape[0] == g->texts && (g->rows == g->bound || (g->rows == 1 && !all_logits)))
        return 0;
    return cr_fail(error,
                   "%.400s: logits of shape %s, expected those of each of %" PRId64 " texts%s",
                   path, cr_shape_text(shape, sizeof shape, 3, logits->shape), g->texts,
                   all_logits ? ", of every token" : "");
}

int cr_read_text_ends(struct cr_text_ends *ends, const struct cr_origin *o, int64_t vocabulary,
                      struct cr_error *error)
{
    const char *dot = o->config ? strrchr(o->config, '.') : NULL;
    const char *config = dot && strcmp(dot, ".json") == 0 ? o->config : NULL;
    int64_t begin[CR_MAX_ENDS];
    int n = 0, status = 0;
    *ends = (struct cr_text_ends){.begin = CRESCENT_NONE};
    if (o->folder && cr_is_gguf(o->folder)) {
        status = cr_gguf_text_ends(ends, o->folder, error);
    } else if (o->folder) {
        char *path = cr_path_in(o->folder, "generation_config.json");
        status =
            cr_config_integers(path, "eos_token_id", ends->items, CR_MAX_ENDS, &ends->n, error);
        free(path);
    }
    if (!status && config && !ends->n)
        status =
            cr_config_integers(config, "eos_token_id", ends->items, CR_MAX_ENDS, &ends->n, error);
    if (!status && config)
        status = cr_config_integers(config, "bos_token_id", begin, CR_MAX_ENDS, &n, error);
    if (n > 0)
        ends->begin = begin[0]; /* the first one if there are several */
    if (ends->begin >= vocabulary || ends->begin < 0)
        ends->begin = CRESCENT_NONE;
    return status;
}
