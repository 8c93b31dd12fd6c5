/* config.h - the file of --config: values for the options of a script. */
#ifndef CR_CONFIG_H
#define CR_CONFIG_H

#include "script_state.h"

/* Reads run->config, if there is one, into run->values, sorted by key. */
void cr_read_config(lua_State *L, struct cr_run *run);

void cr_free_config(struct cr_run *run);

#endif
