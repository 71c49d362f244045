// TCP connections to other machines, which a copy of this one shares with the original.
#ifndef OFFSHOOT_CONNECTIONS_H
#define OFFSHOOT_CONNECTIONS_H

// Ends all but those within this machine: whoever uses one gets ECONNABORTED. Needs the kernel modules of ss(8), tcp_diag
// and what it depends on. 0 or errno.
int connections_reset(void);

#endif
