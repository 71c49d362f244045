import { basename, posix } from 'node:path'
import { UsageError } from '../frame/failure.ts'

/** One end of a copy: a path on this machine, or one in a sandbox. */
export interface Place {
  /** Name, id, or beginning of an id; `null` for this machine. */
  readonly sandbox: string | null
  /** In a sandbox, an absolute path without `.`, `..` and a final slash. */
  readonly path: string
  /** The name that the copy has in a folder. Empty: its content goes into the folder itself. */
  readonly name: string
  /** Written with a final slash: a folder, even if there is none yet. */
  readonly isFolder: boolean
}

/** Understands `SANDBOX:/path`; everything else is a path on this machine. Throws `UsageError`. */
export function parsePlace(text: string): Place {
  if (text === '') throw new UsageError('a path must not be empty')
  const isFolder = /\/\.?$/.test(text)
  const takesContent = /(^|\/)\.$/.test(text)
  const [, sandbox, path] = /^([^/:]+):(.*)$/s.exec(text) ?? []
  if (sandbox === undefined || path === undefined)
    return { sandbox: null, path: text, name: takesContent ? '' : nameOf(text), isFolder }
  if (!path.startsWith('/'))
    throw new UsageError(
      `"${text}" has no absolute path: write ${sandbox}:/${path} for a path in a sandbox, or ./${text} for a local file`,
    )
  const clean = posix.normalize(path).replace(/(.)\/$/, '$1')
  return { sandbox, path: clean, name: takesContent ? '' : posix.basename(clean), isFolder }
}

/** `..` names no file. */
function nameOf(path: string): string {
  const name = basename(path)
  return name === '..' ? '' : name
}
