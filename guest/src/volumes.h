// The spare block devices of a machine: a restored one has a volume in each that it was given, and nothing in the others.
#ifndef OFFSHOOT_VOLUMES_H
#define OFFSHOOT_VOLUMES_H

#include <stdbool.h>
#include <stdint.h>

enum { VOLUME_WHERE_ROOM = 4096 };

// Learns which devices they are, while their driver has them all, and takes them from it: a snapshot made now has no
// idea of what is in them.
void volumes_give_back(void);

// Gives their driver the devices of these bits, in their order, and takes the others from it. What was mounted from a device that is
// taken away is unmounted; who still uses it gets I/O errors. Waits for threads of the kernel: not while the machine is held.
// 0 or an errno.
int volumes_set(uint8_t wanted);

// Where the volume in this place is mounted, and its size in sectors of 512 bytes. False: nowhere.
bool volumes_where(int place, char where[VOLUME_WHERE_ROOM], uint64_t *sectors);

#endif
