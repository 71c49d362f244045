import { z } from 'zod'
import { once } from './page.ts'
import { queryFlag } from './query-fields.ts'

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
  /** Target of a symbolic link; absent for other types. */
  target: z.string().optional(),
  /** Percent-encoded path; present only if the path is not valid UTF-8. */
  path_encoded: z.string().optional(),
  /** Percent-encoded target; present only if the target is not valid UTF-8. */
  target_encoded: z.string().optional(),
})
export type FileEntry = z.infer<typeof fileEntry>

const shownPath = {
  path: z.string(),
  /** Percent-encoded path; present only if the path is not valid UTF-8. */
  path_encoded: z.string().optional(),
}

/** Answer of `GET fs/dir`. Entries are sorted by the bytes of their names. */
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

const MODE_REFUSED = 'mode must be octal permissions, such as 0644'
const path = once('path')
const mode = z
  .string({ error: MODE_REFUSED })
  .regex(/^0?[0-7]{1,4}$/, MODE_REFUSED)
  .transform((text) => Number.parseInt(text, 8))
  .optional()

/**
 * The route takes `path` from the raw query bytes, not from here. The schema documents it, and checks the other
 * parameters.
 */
export const pathQuery = z.object({ path })
/** Query of `PUT fs`. Default mode: a replaced file keeps its own; a new file gets 0644. */
export const writeQuery = z.object({ path, mode })
/** Query of `DELETE fs` and `GET fs/watch`. */
export const recursiveQuery = z.object({ path, recursive: queryFlag('recursive') })
/** Query of `POST fs/mkdir`. With `parents`, missing parents are created, and an existing folder is no error. */
export const mkdirQuery = z.object({ path, mode, parents: queryFlag('parents') })
/** Query of `POST fs/move`, a rename. With `overwrite`, an existing file at `to` is replaced. */
export const moveQuery = z.object({
  path,
  to: once('to'),
  overwrite: queryFlag('overwrite'),
  parents: queryFlag('parents'),
})
