// Boots the machine to the point at which commands can run. Only as PID 1.
#ifndef OFFSHOOT_BOOT_H
#define OFFSHOOT_BOOT_H

// Loads modules, mounts the root disk and file systems, brings up the network. A failure is printed and powers off.
void boot(void);

// Opens the virtio port named "agent", non-blocking.
int boot_open_port(void);

// Ends every process, remounts the root disk read-only and powers off.
_Noreturn void boot_end(void);

#endif
