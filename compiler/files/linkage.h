/* linkage.h - defines CR_API, with which functions of the file readers are declared if other
 * files call them; an emitted file defines it as static. */
#ifndef CR_LINKAGE_H
#define CR_LINKAGE_H

#ifndef CR_API
#define CR_API
#endif

#endif
