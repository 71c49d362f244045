import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { repositoryRoot } from './repository.ts'

/** How the user started Offshoot: from a checkout, or from the npm package `offshoot`. */
export interface Product {
  /** What the user types. */
  readonly command: string
  /** What stands before `backup` and other commands. */
  readonly subcommands: string
  /** The other name of `--doctor`; `null`: none. */
  readonly doctor: string | null
  /** The default data directory, for `--help`. */
  readonly dataDirText: string
  readonly isPacked: boolean
}

export const CHECKOUT: Product = {
  command: 'bin/up',
  subcommands: 'bin/up',
  doctor: null,
  dataDirText: './.offshoot',
  isPacked: false,
}

export const PACKED: Product = {
  command: 'npx offshoot up',
  subcommands: 'npx offshoot',
  doctor: 'npx offshoot doctor',
  dataDirText: '/var/lib/offshoot/data, or ~/.local/share/offshoot/data without root',
  isPacked: true,
}

/** Stands in the root of a release, the part of the repository that the npm package lays out. */
export const RELEASE_RECORD = 'release.json'

/** The product whose files this process runs. */
export function currentProduct(): Product {
  return existsSync(join(repositoryRoot, RELEASE_RECORD)) ? PACKED : CHECKOUT
}

/**
 * The folder of a part that a checkout builds into IMAGES. A release of the npm package contains it, because it has no
 * tools to build it.
 */
export function builtFolder(imagesDir: string, name: string): string {
  return join(currentProduct().isPacked ? repositoryRoot : imagesDir, name)
}

/**
 * The folder of the packed product, for releases and the default data directory: `OFFSHOOT_HOME`, or
 * `/var/lib/offshoot` for root, or `~/.local/share/offshoot` (XDG_DATA_HOME). Root's own home is closed to the users of
 * VMs, which must pass through the data directory.
 */
export function offshootHome(env: Readonly<NodeJS.ProcessEnv>, uid = process.getuid?.()): string {
  const { OFFSHOOT_HOME: own, XDG_DATA_HOME: xdg, HOME: home = homedir() } = env
  if (own) return resolve(own)
  if (uid === 0) return '/var/lib/offshoot'
  // The specification has it that a relative path counts as unset.
  return join(xdg?.startsWith('/') ? xdg : join(home, '.local/share'), 'offshoot')
}

/** Absolute, or relative to the working directory. */
export function defaultDataDir({ isPacked }: Product, env: Readonly<NodeJS.ProcessEnv>): string {
  return isPacked ? join(offshootHome(env), 'data') : '.offshoot'
}
