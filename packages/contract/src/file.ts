import { z } from 'zod'
import { once } from './page.ts'
import { queryFlag } from './query-fields.ts'

/**
 * Files of a sandbox. A path in a query is absolute and percent-encoded, byte for byte: any bytes but NUL. JSON holds text
 * only, so a name that is no UTF-8 is shown with U+FFFD in its place, and beside it stands the form that names the file,
 * ready to be put into a query: `path_encoded` (docs/adr/0005-names-of-files.md).
 */

/** One file of a folder; links are not followed. */
export const fileEntry = z.object({
  /** The last part of the path; `/` for the root. */
  name: z.string(),
  path: z.string(),
  type: z.enum(['file', 'dir', 'symlink', 'other']),
  is_dir: z.boolean(),
  /** Bytes. */
  size: z.int(),
  /** Permission bits in octal, four digits. */
  mode: z.string(),
  /** Seconds since 1970. */
  mtime: z.int(),
  /** Where a link leads; for links only. */
  target: z.string().optional(),
  /** Percent-encoded; only where the path is no UTF-8. */
  path_encoded: z.string().optional(),
  /** The same of `target`. */
  target_encoded: z.string().optional(),
})
export type FileEntry = z.infer<typeof fileEntry>

const shownPath = {
  path: z.string(),
  /** Percent-encoded; only where the path is no UTF-8. */
  path_encoded: z.string().optional(),
}

/** Answer of `GET fs/dir`: its entries, sorted by the bytes of their names. */
export const folderListing = z.object({ ...shownPath, entries: z.array(fileEntry) })

/** Answer of `PUT fs`. */
export const fileWritten = z.object({ ...shownPath, bytes: z.int() })
export type FileWritten = z.infer<typeof fileWritten>

/** Answer of `PUT fs/archive`: what was unpacked. */
export const archiveUnpacked = z.object({ ...shownPath, entries: z.int(), bytes: z.int() })
export type ArchiveUnpacked = z.infer<typeof archiveUnpacked>

/**
 * `data` of the events `created`, `modified`, `deleted` and `moved` of `GET fs/watch`; `to` is where it was moved to.
 * `overflow` has none of it: changes were lost, look again at everything. `error` ends the stream.
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

/** `path` is read from the bytes of the query, not from here: this names it, and checks the rest. */
export const pathQuery = z.object({ path })
/** Of `PUT fs`; the mode of a file that is replaced stays by default, a new one gets 0644. */
export const writeQuery = z.object({ path, mode })
/** Of `DELETE fs` and `GET fs/watch`. */
export const recursiveQuery = z.object({ path, recursive: queryFlag('recursive') })
/** Of `POST fs/mkdir`: with `parents`, missing folders above are made, and one that is there is no error. */
export const mkdirQuery = z.object({ path, mode, parents: queryFlag('parents') })
/** Of `POST fs/move`: a rename; with `overwrite`, what stands at `to` is replaced. */
export const moveQuery = z.object({
  path,
  to: once('to'),
  overwrite: queryFlag('overwrite'),
  parents: queryFlag('parents'),
})
