// From the kernel's hand-over to a system in which commands can run. Only as PID 1.
#ifndef OFFSHOOT_BOOT_H
#define OFFSHOOT_BOOT_H

// Modules, root disk, file systems, loopback. A failure is printed on the console and ends the machine.
void boot(void);

// The virtio port called "agent", open and non-blocking.
int boot_open_port(void);

// Ends every process, brings the disk in order and the machine to its end.
_Noreturn void boot_end(void);

#endif
