// The kernel's own list of TCP sockets (netlink, sock_diag(7)): as /proc/net/tcp and tcp6, but only the states that are asked for.
#ifndef OFFSHOOT_SOCK_DIAG_H
#define OFFSHOOT_SOCK_DIAG_H

#include <linux/inet_diag.h>
#include <stdint.h>

enum { SOCK_DIAG_ANSWER_MAX_BYTES = 32 * 1024 };

// Closed on exec; an answer that does not come within a second is EAGAIN. -1 with errno.
int sock_diag_open(void);
// `states` are bits, 1 << TCP_…; `id` is NULL, or the one socket that is meant. Returns 0 or an errno.
int sock_diag_ask(int fd, uint16_t type, uint16_t flags, uint8_t family, uint32_t states, const struct inet_diag_sockid *id);

#endif
