/* natural_order.h - compares names that contain numbers. */
#ifndef CR_NATURAL_ORDER_H
#define CR_NATURAL_ORDER_H

/* Compares two names, as strcmp does, but numbers in them by value: h.2 comes before h.10. */
int cr_compare_names(const char *a, const char *b);

#endif
