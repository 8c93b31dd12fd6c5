/* natural_order.h - compares names that contain numbers. */
#ifndef CR_NATURAL_ORDER_H
#define CR_NATURAL_ORDER_H

/* Compares two names as strcmp does, except that numbers in them compare by value: h.2 precedes
 * h.10. */
int cr_compare_names(const char *a, const char *b);

#endif
