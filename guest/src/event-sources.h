// Event sources of the epoll loop. All are edge-triggered: an edge sets a flag, and EAGAIN clears it. With
// level-triggered events the loop would spin, because a virtio port without a host reports POLLHUP all the time.
#ifndef OFFSHOOT_EVENT_SOURCES_H
#define OFFSHOOT_EVENT_SOURCES_H

#include <stdint.h>
#include <sys/epoll.h>

enum source {
	SOURCE_CHANNEL,
	SOURCE_LISTENER,
	SOURCE_SIGNAL,
	SOURCE_STDIN,
	SOURCE_STDOUT,
	SOURCE_STDERR,
	SOURCE_DRAIN,
	SOURCE_KEPT_STDIN,
	SOURCE_KEPT_STDOUT,
	SOURCE_KEPT_STDERR,
	SOURCE_TCP,
	SOURCE_TCP_LISTENER,
};

static inline int source_watch(int poll_fd, int operation, int fd, uint32_t events, enum source source, uint32_t index)
{
	struct epoll_event event = {.events = events | EPOLLET, .data.u64 = (uint64_t)source << 32 | index};
	return epoll_ctl(poll_fd, operation, fd, &event);
}

#endif
