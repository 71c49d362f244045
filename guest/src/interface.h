// Network interfaces.
#ifndef OFFSHOOT_INTERFACE_H
#define OFFSHOOT_INTERFACE_H

#include <stdint.h>

enum { MAC_BYTES = 6, IPV4_BYTES = 4 };

// The IPv4 configuration of an interface. Addresses are in network order.
struct interface_address {
	uint8_t address[IPV4_BYTES];
	uint8_t prefix_bits; // 1 to 30
	uint8_t gateway[IPV4_BYTES];
	uint16_t mtu; // bytes
};

// Each of these returns 0 or an errno.

int interface_bring_up(const char *name);
// Works while the interface is up, and keeps its addresses and routes.
int interface_set_mac(const char *name, const uint8_t mac[MAC_BYTES]);
// Replaces the address. The kernel then removes every route over the interface.
int interface_set_address(const char *name, const struct interface_address *to);
// Adds the default route. Not an error when it exists.
int interface_set_gateway(const char *name, const uint8_t gateway[IPV4_BYTES]);

#endif
