// Network interfaces.
#ifndef OFFSHOOT_INTERFACE_H
#define OFFSHOOT_INTERFACE_H

#include <stdint.h>

enum { MAC_BYTES = 6 };

// 0 or errno.
int interface_bring_up(const char *name);
// While it is up: addresses and routes stay. 0 or errno.
int interface_set_mac(const char *name, const uint8_t mac[MAC_BYTES]);

#endif
