import { execFile } from 'node:child_process'
import { access, mkdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { takeLock } from '@offshoot/kit/exclusive-lock'

const run = promisify(execFile)
const up = resolve(import.meta.dirname, '../../bin/up')
const MAKE_S = 300

/**
 * Parts of an agent's folder that are equal in every data directory. Its id is not copied, so a copied agent gets a new
 * one.
 */
const SHARED_BY_AGENTS = ['accelerator.json', 'bakes']
const COPIED = ['postgres', 'secrets', 'control', 'credentials.json']

/**
 * Prepares `dataDir` as `bin/up --prepare` does: a cluster with the first user, and baked templates. That takes
 * seconds, so it is done once per run and copied. Files that are never modified are shared if both are on one disk.
 */
export async function layOutFromSeed(
  dataDir: string,
  imagesDir: string,
  templates: readonly string[] | null,
): Promise<void> {
  await copySeed(await seedOf(imagesDir, seededWith(templates)), dataDir)
}

/** Makes the seed, so that several which need it at the same time do not wait for one another. */
export async function prepareSeed(imagesDir: string, templates: readonly string[] | null): Promise<void> {
  await seedOf(imagesDir, seededWith(templates))
}

/** The same for a host that is to join a fleet: the agent's part alone. */
export async function layOutAgentFromSeed(
  dataDir: string,
  imagesDir: string,
  templates: readonly string[] | null,
): Promise<void> {
  await copyAgent(await seedOf(imagesDir, seededWith(templates)), dataDir)
}

async function copySeed(seed: string, dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o711 })
  await copy(
    COPIED.map((name) => join(seed, name)),
    dataDir,
  )
  await copyAgent(seed, dataDir)
}

async function copyAgent(seed: string, dataDir: string): Promise<void> {
  const agent = join(dataDir, 'agent')
  await mkdir(agent, { recursive: true, mode: 0o711 })
  const canShare = (await stat(agent)).dev === (await stat(seed)).dev
  await copy(
    SHARED_BY_AGENTS.map((name) => join(seed, 'agent', name)),
    agent,
    ...(canShare ? ['--link'] : []),
  )
}

/** The seed that each seed extends. */
const MADE_OF: Readonly<Record<string, string | null>> = {
  minimal: null,
  'minimal,base': 'minimal',
  'minimal,base,app': 'minimal,base',
  'minimal,postgres-16': 'minimal',
  'minimal,code-interpreter': 'minimal',
}

function seededWith(templates: readonly string[] | null): string {
  if (templates?.includes('postgres-16') === true) return 'minimal,postgres-16'
  if (templates?.includes('code-interpreter') === true) return 'minimal,code-interpreter'
  if (templates?.includes('app') === true) return 'minimal,base,app'
  return templates?.includes('base') === false ? 'minimal' : 'minimal,base'
}

async function copy(paths: readonly string[], into: string, ...flags: readonly string[]): Promise<void> {
  await run('cp', ['--archive', '--reflink=auto', ...flags, ...paths, into])
}

/** The first test file that needs a seed makes it; others wait. */
async function seedOf(imagesDir: string, templates: string): Promise<string> {
  // Benchmarks start servers too, and must not load Vitest outside of a test run.
  const { inject } = await import('vitest')
  const seed = join(inject('seedFolder'), templates)
  const isMade = `${seed}.made`
  const lock = await takeLock(`${seed}.lock`, MAKE_S)
  if (lock === null) throw new Error(`${seed} is not made after ${MAKE_S} s`)
  try {
    if (await exists(isMade)) return seed
    const from = MADE_OF[templates]
    if (from !== null && from !== undefined) await copySeed(await seedOf(imagesDir, from), seed)
    const env = { ...process.env, OFFSHOOT_TEMPLATES: templates }
    await run(up, ['--prepare', '--data-dir', seed, '--images-dir', imagesDir, '--yes'], { env })
    await mkdir(isMade)
    return seed
  } finally {
    lock.release()
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
