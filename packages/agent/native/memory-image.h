/* What starts the images of a QEMU's memory (memory-image.c). */
#ifndef MEMORY_IMAGE_H
#define MEMORY_IMAGE_H

/* Starts the process that serves images on this socket. The caller closes the socket. Returns 0, or -1 with errno. */
__attribute__((visibility("hidden"))) int serve_images(int listener);

#endif
