/* api.h - CR_API, with which functions are declared that other files call; an emitted file defines it as
 * static. */
#ifndef CR_API_H
#define CR_API_H

#ifndef CR_API
#define CR_API
#endif

#endif
