// Network interfaces.
#ifndef OFFSHOOT_INTERFACE_H
#define OFFSHOOT_INTERFACE_H

#include <stdint.h>

enum { MAC_BYTES = 6, IPV4_BYTES = 4 };

// Where an interface stands in its network. Addresses in network order.
struct interface_address {
	uint8_t address[IPV4_BYTES];
	uint8_t prefix_bits; // 1 to 30
	uint8_t gateway[IPV4_BYTES];
	uint16_t mtu; // bytes
};

// 0 or errno.
int interface_bring_up(const char *name);
// While it is up: addresses and routes stay. 0 or errno.
int interface_set_mac(const char *name, const uint8_t mac[MAC_BYTES]);
// In place of the one it has; every route over it goes with that. 0 or errno.
int interface_set_address(const char *name, const struct interface_address *to);
// The default route. 0 or errno; one that is there is none.
int interface_set_gateway(const char *name, const uint8_t gateway[IPV4_BYTES]);

#endif
