/* linkage.h - CR_API, with which functions of the readers are declared that other files call; an emitted
 * file defines it as static. */
#ifndef CR_LINKAGE_H
#define CR_LINKAGE_H

#ifndef CR_API
#define CR_API
#endif

#endif
