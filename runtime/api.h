/* api.h - CR_API, which begins the declarations of functions that other files call.  An emitted
 * file defines it as static. */
#ifndef CR_API_H
#define CR_API_H

#ifndef CR_API
#define CR_API
#endif

#endif
