import { chmodSync, readFileSync, statSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { Failure } from './failure.ts'
import { replacePrivateFile } from './private-file.ts'

/** What `offshoot login` keeps. The file is readable by its owner alone. */
export interface Config {
  /** Address of the API, without a final slash. */
  readonly base_url?: string
  /** An API key, which belongs to one workspace. */
  readonly api_key?: string
  /** The session of a user who signed in. */
  readonly session?: string
  /** The user's address, to show. */
  readonly email?: string
  /** The workspace that `offshoot use` chose. */
  readonly workspace?: { readonly id: string; readonly slug: string }
  /** A token for that workspace, made from the session. */
  readonly access?: { readonly token: string; readonly workspace_id: string; readonly expires_at: string }
}

/** Where a server that runs on this machine listens. */
export const DEFAULT_BASE_URL = 'http://127.0.0.1:8080'

/** `OFFSHOOT_CONFIG`, or `offshoot/config.json` in the user's configuration folder. */
export function configPath(env: NodeJS.ProcessEnv): string {
  const named = env['OFFSHOOT_CONFIG']
  if (named) return named
  const folder = env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config')
  return join(folder, 'offshoot/config.json')
}

/**
 * Reads the file; an absent one is an empty configuration. A file that others may read is made private, because it
 * holds credentials.
 */
export function readConfig(path: string): Config {
  let text: string
  try {
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600)
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw new Failure(`the configuration ${path} cannot be read`, { next: 'correct its permissions', cause: error })
  }
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // Reported below.
  }
  throw new Failure(`the configuration ${path} is not JSON`, { next: 'remove it and run offshoot login' })
}

export async function writeConfig(path: string, config: Config): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  try {
    await replacePrivateFile(path, `${JSON.stringify(config, null, 2)}\n`)
  } catch (error) {
    throw new Failure(`the configuration ${path} cannot be written`, {
      next: 'correct its permissions, or set OFFSHOOT_CONFIG to another file',
      cause: error,
    })
  }
}

/** Saves what `offshoot up` made, so that the next command needs no login. */
export async function saveCredentials(path: string, baseUrl: string, apiKey: string): Promise<void> {
  await writeConfig(path, { base_url: baseUrl, api_key: apiKey })
}
