#include "drains.h"

#include <errno.h>
#include <unistd.h>

#include "event-sources.h"

void drains_take(struct drains *drains, int fd)
{
	uint32_t index = drains->next;
	for (uint32_t i = 0; i < DRAINS_MAX && drains->slots[index].fd != 0; i++)
		index = (index + 1) % DRAINS_MAX;
	if (drains->slots[index].fd != 0)
		close(drains->slots[index].fd);

	drains->slots[index] = (struct drain){.fd = fd, .ready = true};
	drains->next = (index + 1) % DRAINS_MAX;
	if (index >= drains->used)
		drains->used = index + 1;
	source_watch(drains->poll_fd, EPOLL_CTL_MOD, fd, EPOLLIN, SOURCE_DRAIN, index);
}

void drains_wake(struct drains *drains, uint32_t index)
{
	drains->slots[index].ready = true;
}

bool drains_pump(struct drains *drains)
{
	static char nowhere[64 * 1024];
	bool progress = false;
	for (uint32_t i = 0; i < drains->used; i++) {
		struct drain *drain = &drains->slots[i];
		if (drain->fd == 0 || !drain->ready)
			continue;
		ssize_t got = read(drain->fd, nowhere, sizeof nowhere);
		if (got > 0 || (got < 0 && errno == EINTR)) {
			progress = true;
		} else if (got < 0 && errno == EAGAIN) {
			drain->ready = false;
		} else {
			close(drain->fd);
			drain->fd = 0;
		}
	}
	return progress;
}
