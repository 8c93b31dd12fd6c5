/* peak_rates.h - loops that reach the peak rates of the floating-point units and of the memory. */
#ifndef CR_PEAK_RATES_H
#define CR_PEAK_RATES_H

/* Runs float32 fused multiply-adds, the widest that the machine has, for some milliseconds on the
 * calling thread. Returns the number of floating-point operations, two for each element. */
double cr_peak_work(void);

/* Runs exact 8-bit products for some milliseconds, by the instruction for int8 products at the
 * runtime level `isa`, which the machine must support.  If bf16 is not 0: bf16 products by AMX,
 * or if that level has no AMX, float32 fma.  Returns the number of operations. */
double cr_peak_products(const char *isa, int bf16);

enum { CR_READ_STEP = 512 /* bytes read in one step */ };

/* Reads steps * CR_READ_STEP bytes at `buffer`, which is aligned to 64, with the widest loads
 * that the machine has. */
void cr_read_work(const void *buffer, long steps);

#endif
