/* peak.h - work for the machine's floating-point units that nothing holds up. */
#ifndef CR_PEAK_H
#define CR_PEAK_H

/* Some milliseconds of the widest float32 fused multiply-adds the machine has, on the calling
 * thread.  Returns the number of floating-point operations done: two an element. */
double cr_peak_work(void);

#endif
