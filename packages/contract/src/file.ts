import { z } from 'zod'
import { once } from './page.ts'
import { queryFlag, queryInteger } from './query-fields.ts'

/**
 * Files of a sandbox. A path in a query is absolute and percent-encoded, and may hold any byte except NUL. JSON cannot
 * hold arbitrary bytes, so a path that is not valid UTF-8 is shown with U+FFFD. `path_encoded` then holds the exact
 * path, ready for a query (docs/adr/0005-names-of-files.md).
 */

/** One directory entry. Symbolic links are not followed. */
export const fileEntry = z.object({
  /** Last segment of the path; `/` for the root. */
  name: z.string(),
  path: z.string(),
  type: z.enum(['file', 'dir', 'symlink', 'other']),
  is_dir: z.boolean(),
  /** Bytes. */
  size: z.int(),
  /** Permission bits in octal, four digits. */
  mode: z.string(),
  /** Unix time in seconds. */
  mtime: z.int(),
  /** Unix time in milliseconds. */
  mtime_ms: z.int(),
  /** Owner and group. 65534 if the user may not read them. */
  uid: z.int(),
  gid: z.int(),
  /** Name of the owner in the sandbox's `/etc/passwd`. The number as text if it has none. */
  user: z.string(),
  /** Name of the group in the sandbox's `/etc/group`. The number as text if it has none. */
  group: z.string(),
  /** Content of a symbolic link; absent for other types. */
  target: z.string().optional(),
  /** Absolute path of what a symbolic link leads to, through all links; absent if the user cannot reach it. */
  target_path: z.string().optional(),
  /** Type of what a symbolic link leads to; absent if the user cannot reach it. */
  target_type: z.enum(['file', 'dir', 'symlink', 'other']).optional(),
  /** `mode` of what a symbolic link leads to; absent if the user cannot reach it. */
  target_mode: z.string().optional(),
  /** Percent-encoded path; present only if the path is not valid UTF-8. */
  path_encoded: z.string().optional(),
  /** Percent-encoded target; present only if the target is not valid UTF-8. */
  target_encoded: z.string().optional(),
  /** Percent-encoded target path; present only if that path is not valid UTF-8. */
  target_path_encoded: z.string().optional(),
})
export type FileEntry = z.infer<typeof fileEntry>

const shownPath = {
  path: z.string(),
  /** Percent-encoded path; present only if the path is not valid UTF-8. */
  path_encoded: z.string().optional(),
}

/** Answer of `GET fs/dir`. Entries are sorted by the bytes of their paths. */
export const folderListing = z.object({ ...shownPath, entries: z.array(fileEntry) })

/** Answer of `PUT fs`. */
export const fileWritten = z.object({ ...shownPath, bytes: z.int() })
export type FileWritten = z.infer<typeof fileWritten>

/** Answer of `PUT fs/archive`: the number of unpacked entries and bytes. */
export const archiveUnpacked = z.object({ ...shownPath, entries: z.int(), bytes: z.int() })
export type ArchiveUnpacked = z.infer<typeof archiveUnpacked>

/**
 * `data` of the events of `GET fs/watch`: `created`, `modified`, `deleted`, and `moved` with the new path in `to`.
 * `overflow` carries none of it: changes were lost, and the client must list the folder again. `error` ends the stream.
 */
export const fileChange = z.union([
  z.object({
    path: z.string(),
    is_dir: z.boolean(),
    to: z.string().optional(),
    path_encoded: z.string().optional(),
    to_encoded: z.string().optional(),
  }),
  z.object({ error: z.string() }),
])

/** Maximum depth of `GET fs/dir`. */
export const MAX_LIST_DEPTH = 100
/** Maximum characters of a user name, as in `exec`. */
const MAX_USER_CHARS = 64

const MODE_REFUSED = 'mode must be octal permissions, such as 0644'
const path = once('path')
const mode = z
  .string({ error: MODE_REFUSED })
  .regex(/^0?[0-7]{1,4}$/, MODE_REFUSED)
  .transform((text) => Number.parseInt(text, 8))
  .optional()

const userName = (name: string) =>
  once(name)
    .max(MAX_USER_CHARS, `${name} must be at most ${MAX_USER_CHARS} characters`)
    .refine((value) => !value.includes('\0'), `${name} must not contain NUL`)
    .optional()

/** Query parameters of every file route. At most one of them is given. */
export const fileUserQuery = z.object({
  /** User name or numeric id, whose rights apply and who owns what the request makes. Default: `root`. */
  user: userName('user'),
  /** User name or numeric id who owns what the request makes and writes. The request itself has root's rights. */
  owner: userName('owner'),
})

/**
 * The route takes `path` from the raw query bytes, not from here. The schema documents it, and checks the other
 * parameters.
 */
export const pathQuery = fileUserQuery.extend({ path })
/** Query of `PUT fs`. Default mode: a replaced file keeps its own; a new file gets 0644. */
export const writeQuery = pathQuery.extend({ mode })
/** Query of `DELETE fs` and `GET fs/watch`. */
export const recursiveQuery = pathQuery.extend({ recursive: queryFlag('recursive') })
/** Query of `GET fs/dir`. */
export const listQuery = pathQuery.extend({
  /** 1 to 100. Default: 1, the entries of the directory itself. 2 adds those of directories in it, and so on. */
  depth: queryInteger('depth', 1, MAX_LIST_DEPTH),
})
/** Query of `POST fs/mkdir`. With `parents`, missing parents are created, and an existing folder is no error. */
export const mkdirQuery = pathQuery.extend({ mode, parents: queryFlag('parents') })
/** Query of `POST fs/move`, a rename. With `overwrite`, an existing file at `to` is replaced. */
export const moveQuery = pathQuery.extend({
  to: once('to'),
  overwrite: queryFlag('overwrite'),
  parents: queryFlag('parents'),
})
