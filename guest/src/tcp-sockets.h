// Lists and destroys TCP sockets with sock_diag(7). Unlike /proc/net/tcp, the kernel lists only the requested states.
#ifndef OFFSHOOT_TCP_SOCKETS_H
#define OFFSHOOT_TCP_SOCKETS_H

#include <stddef.h>
#include <stdint.h>

enum { LISTENERS_MAX = 1024 };

// Destroys all TCP connections except those within this machine, because a restored VM shares them with the original.
// Programs that use them get ECONNABORTED. Needs the kernel module tcp_diag. Returns 0 or an errno.
int tcp_sockets_reset_connections(void);

// Lists the TCP ports that a connection to a loopback address reaches. Each port once, unsorted; at most LISTENERS_MAX.
// Returns 0 or an errno.
int tcp_sockets_list_listeners(uint16_t ports[LISTENERS_MAX], size_t *count);

#endif
