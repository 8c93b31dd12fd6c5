/* peak.h - loops that reach the peak of the floating-point units, and of the memory. */
#ifndef CR_PEAK_H
#define CR_PEAK_H

/* Some milliseconds of the widest float32 fused multiply-adds the machine has, on the calling
 * thread.  Returns the number of floating-point operations done: two an element. */
double cr_peak_work(void);

/* The same of exact products of 8 bits, by the instruction that products in int8 have at a level of the
 * runtime, which this machine has; or of bf16: with tiles by theirs, else float32 fused multiply-adds. */
double cr_peak_products(const char *isa, int bf16);

enum { CR_READ_STEP = 512 /* bytes */ };

/* Reads `steps` times CR_READ_STEP bytes, aligned to 64, with the widest loads the machine has. */
void cr_read_work(const void *buffer, long steps);

#endif
