/* natural_order.h - the order of names that hold numbers. */
#ifndef CR_NATURAL_ORDER_H
#define CR_NATURAL_ORDER_H

/* The order of two names, less than 0 if a comes first: by characters, but numbers in them by
 * their value, so that h.2 comes before h.10. */
int cr_compare_names(const char *a, const char *b);

#endif
