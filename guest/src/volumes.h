// The spare block devices of a machine. A restored machine gets volumes in some of them; the others are empty.
#ifndef OFFSHOOT_VOLUMES_H
#define OFFSHOOT_VOLUMES_H

#include <stdbool.h>
#include <stdint.h>

enum { VOLUME_WHERE_ROOM = 4096 };

// Finds the spare devices while all are bound to their driver, then unbinds all. So a later snapshot holds no state of
// their contents.
void volumes_give_back(void);

// Binds the devices of these bits to their driver, in their order, and unbinds the others. File systems of an unbound
// device are unmounted, and programs that still use them get EIO. Waits for kernel threads, so it must not be called
// while the machine is held. Returns 0 or an errno.
int volumes_set(uint8_t wanted);

// Sets where the volume in this place is mounted, and its size in sectors of 512 bytes. Returns false when it is not
// mounted.
bool volumes_where(int place, char where[VOLUME_WHERE_ROOM], uint64_t *sectors);

#endif
