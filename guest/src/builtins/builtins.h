// Builtins: file operations that the agent runs as commands. Each is a forked child without exec, under the requested
// user. So they use the streams, credit and KILL of commands, and a file system that hangs cannot block the agent.
//
// A builtin writes its result to stdout. When it fails, at any time, it writes one record to stderr (`errno u32, text`)
// and exits with 1. Records: guest/PROTOCOL.md.
#ifndef OFFSHOOT_BUILTINS_H
#define OFFSHOOT_BUILTINS_H

#include <stdbool.h>

// The user owns also what a builtin replaces (RUN_OWNER). Else a replaced file keeps its owner.
extern bool builtin_takes_over;

bool builtin_exists(const char *name);
// Runs in the child. Returns its exit code.
int builtin_run(const char *name, char *const *argv);
// Writes the failure record. Returns the exit code.
int builtin_fail(const char *step, int error);

// Arguments are strings, and their number has been checked.
int builtin_read(char *const *argv);	// path, offset, length or "" for the rest
int builtin_write(char *const *argv);	// path, octal mode or "", parents 0|1
int builtin_stat(char *const *argv);	// path
int builtin_list(char *const *argv);	// path
int builtin_describe(char *const *argv); // path
int builtin_walk(char *const *argv);	// path, depth
int builtin_remove(char *const *argv);	// path, recursive 0|1
int builtin_mkdir(char *const *argv);	// path, octal mode or "", parents 0|1
int builtin_move(char *const *argv);	// from, to, overwrite 0|1, parents 0|1
int builtin_archive(char *const *argv); // path
int builtin_unpack(char *const *argv);	// path
int builtin_watch(char *const *argv);	// path, recursive 0|1
int builtin_sync(char *const *argv);	// "all"
int builtin_grow(char *const *argv);	// place of a volume, new size of its device in bytes
int builtin_layer(char *const *argv);	// device of the archive, first byte, bytes, device of the disk, whiteouts 0|1

#endif
