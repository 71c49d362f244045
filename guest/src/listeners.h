// The TCP ports on which a program of this machine can be reached over a loopback address.
#ifndef OFFSHOOT_LISTENERS_H
#define OFFSHOOT_LISTENERS_H

#include <stddef.h>
#include <stdint.h>

enum { LISTENERS_MAX = 1024 };

// Each port once, in no order; more than LISTENERS_MAX are left out. Returns 0 or an errno.
int listeners_list(uint16_t ports[LISTENERS_MAX], size_t *count);

#endif
