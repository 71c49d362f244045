// The kernel's own list of TCP sockets (netlink, sock_diag(7)): as /proc/net/tcp and tcp6, but only the states that are asked for.
#ifndef OFFSHOOT_TCP_SOCKETS_H
#define OFFSHOOT_TCP_SOCKETS_H

#include <stddef.h>
#include <stdint.h>

enum { LISTENERS_MAX = 1024 };

// Ends all connections but those within this machine: whoever uses one gets ECONNABORTED. Needs the kernel modules of ss(8), tcp_diag
// and what it depends on. 0 or errno.
int tcp_sockets_reset_connections(void);

// The TCP ports on which a program of this machine can be reached over a loopback address.
// Each port once, in no order; more than LISTENERS_MAX are left out. Returns 0 or an errno.
int tcp_sockets_list_listeners(uint16_t ports[LISTENERS_MAX], size_t *count);

#endif
