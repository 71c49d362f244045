#ifndef JAIL_FILTER_H
#define JAIL_FILTER_H

/* Installs the filter for this process and all that it becomes or starts. 0, or -1 with errno. Needs no_new_privs. */
int install_filter(void);

#endif
