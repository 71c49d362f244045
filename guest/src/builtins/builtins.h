// File operations that run as commands of the agent's own: a forked child without exec, under the user who asks. So the
// streams, credit and kill of commands carry them, and no file system, however it hangs, holds the agent.
//
// Results go to standard output. A failure at any time is one record on standard error (`errno u32, text`) and exit code
// 1; before the first byte of a result nothing has been promised. Records: guest/PROTOCOL.md.
#ifndef OFFSHOOT_BUILTINS_H
#define OFFSHOOT_BUILTINS_H

#include <stdbool.h>

bool builtin_exists(const char *name);
// In the child. Returns its exit code.
int builtin_run(const char *name, char *const *argv);
// Reports a failure; returns the exit code that says so.
int builtin_fail(const char *step, int error);

// One file each. Arguments are strings; their number has been checked.
int builtin_read(char *const *argv);	// path, offset, length or "" for the rest
int builtin_write(char *const *argv);	// path, octal mode or "", parents 0|1
int builtin_stat(char *const *argv);	// path
int builtin_list(char *const *argv);	// path
int builtin_remove(char *const *argv);	// path, recursive 0|1
int builtin_mkdir(char *const *argv);	// path, octal mode or "", parents 0|1
int builtin_move(char *const *argv);	// from, to, overwrite 0|1, parents 0|1
int builtin_archive(char *const *argv); // path
int builtin_unpack(char *const *argv);	// path
int builtin_watch(char *const *argv);	// path, recursive 0|1
int builtin_sync(char *const *argv);	// "all"
int builtin_grow(char *const *argv);	// place of a volume, bytes its device comes to have
int builtin_layer(char *const *argv);	// device of the archive, first byte, bytes, device of the disk, whiteouts 0|1

#endif
