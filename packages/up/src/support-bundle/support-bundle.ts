/**
 * `support-bundle`: what helps others to find a fault of this installation, without secrets and data of tenants. Each
 * part that cannot be made says why in its place.
 */
import { lstat, readdir, readFile, statfs } from 'node:fs/promises'
import { release as kernelRelease, arch, cpus, loadavg, totalmem, uptime } from 'node:os'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { z } from 'zod'
import { type FileEntry, textEntry } from '../backup/archive.ts'
import { currentVersions } from '../backup/manifest.ts'
import type { UpArguments } from '../base/arguments.ts'
import type { DataLayout } from '../base/data-layout.ts'
import type { Product } from '../base/product.ts'
import { repositoryRoot } from '../base/repository.ts'
import { runCommand } from '../base/run-command.ts'
import { HOST } from '../config/configuration.ts'
import { findAll } from '../doctor/diagnose.ts'
import { logParts } from './log-parts.ts'
import { Redaction, secretsIn } from './redaction.ts'

const QUERY_MS = 60_000
const ANSWER_MS = 10_000
/** Folders of the agent with one entry for each object. */
const OBJECTS = ['sandboxes', 'snapshots', 'volumes', 'templates', 'builds', 'spares', 'trash', 'quarantine', 'layers']
const CONFIGURATIONS = ['settings', 'agentConfig', 'controlConfig', 'edgeConfig', 'e2bConfig'] as const

export interface Described {
  readonly args: UpArguments
  readonly layout: DataLayout
  readonly product: Product
  readonly stop: AbortSignal
}

/** The files of the bundle. */
export async function* supportParts(described: Described): AsyncGenerator<FileEntry> {
  const { layout } = described
  const redaction = new Redaction(await knownSecrets(layout))
  const parts: Readonly<Record<string, () => Promise<unknown>>> = {
    'versions.json': () => versions(layout),
    'doctor.json': () => findings(described),
    'sizes.json': () => sizes(layout),
    'processes.json': async () => parseFile(layout.runningRecord),
    'health.json': () => health(layout),
    'database.json': () => database(layout),
  }
  for (const [name, make] of Object.entries(parts)) yield await part(name, make, redaction)
  for (const name of CONFIGURATIONS) {
    const file = layout[name]
    yield await part(file.slice(layout.dir.length + 1), async () => parseFile(file), redaction)
  }
  yield* logParts(layout.logs, redaction)
}

async function part(name: string, make: () => Promise<unknown>, redaction: Redaction): Promise<FileEntry> {
  const made = await make().catch((error: Error) => ({ missing: error.message }))
  return textEntry(name, `${JSON.stringify(redaction.json(made), null, 2)}\n`)
}

/** Everything below `secrets/`, and what is secret in configurations and credentials. */
async function knownSecrets(layout: DataLayout): Promise<string[]> {
  const folders = [layout.secrets, layout.control]
  const files = await Promise.all(
    folders.map(async (folder) =>
      (await readdir(folder, { withFileTypes: true }).catch(() => []))
        .filter((entry) => entry.isFile())
        .map(({ name }) => join(folder, name)),
    ),
  )
  const secrets = await Promise.all(files.flat().map((path) => readFile(path, 'utf8')))
  const configurations = CONFIGURATIONS.map((name) => layout[name])
  const parsed = await Promise.all(configurations.map((path) => parseFile(path).catch(() => null)))
  const credentials = await parseFile(layout.credentials).catch(() => null)
  return [...secrets, ...parsed.flatMap((each) => secretsIn(each)), ...credentialsOf(credentials)]
}

/** Addresses and ports are no secrets. */
function credentialsOf(credentials: unknown): string[] {
  const { email, jwt, ...rest } = (credentials ?? {}) as Record<string, unknown>
  return [email, jwt].filter((each) => typeof each === 'string').concat(secretsIn(rest))
}

async function parseFile(path: string): Promise<unknown> {
  return JSON.parse(await readFile(path, 'utf8'))
}

async function versions({ postgres }: DataLayout): Promise<unknown> {
  const system = await readFile('/etc/os-release', 'utf8').catch(() => '')
  return {
    ...(await currentVersions(postgres)),
    at: new Date().toISOString(),
    node: process.version,
    kernel: kernelRelease(),
    architecture: arch(),
    system: /^PRETTY_NAME="(.*)"$/m.exec(system)?.[1] ?? null,
    is_root: process.getuid?.() === 0,
    cpus: cpus().length,
    cpu: cpus()[0]?.model ?? null,
    memory_bytes: totalmem(),
    uptime_seconds: uptime(),
    load: loadavg(),
    // Their values can be secret.
    variables: Object.keys(process.env)
      .filter((name) => name.startsWith('OFFSHOOT_'))
      .toSorted(),
  }
}

function findings({ args, product, stop }: Described): Promise<unknown> {
  return findAll(args, { root: repositoryRoot, node: process.execPath }, product, stop)
}

async function sizes(layout: DataLayout): Promise<unknown> {
  const { bsize, blocks, bavail } = await statfs(layout.dir)
  const disk = { bytes: blocks * bsize, available_bytes: bavail * bsize }
  const names = await readdir(layout.dir)
  const folders = await Promise.all(names.map(async (name) => [name, await diskBytes(join(layout.dir, name))]))
  const objects = await Promise.all(
    OBJECTS.map(async (name) => [name, (await readdir(join(layout.agent, name)).catch(() => [])).length]),
  )
  return { disk, folders: Object.fromEntries(folders), objects: Object.fromEntries(objects) }
}

/** Bytes that a file or a folder takes on the disk. */
async function diskBytes(path: string): Promise<number> {
  const found = await lstat(path).catch(() => null)
  if (found === null) return 0
  const own = found.blocks * 512
  if (!found.isDirectory()) return own
  let sum = own
  for (const name of await readdir(path).catch(() => [])) sum += await diskBytes(join(path, name))
  return sum
}

async function health({ runningRecord }: DataLayout): Promise<unknown> {
  const { port } = z.object({ port: z.int() }).parse(await parseFile(runningRecord))
  const answer = await fetch(`http://${HOST}:${port}/healthz`, { signal: AbortSignal.timeout(ANSWER_MS) })
  return { status: answer.status, body: await answer.json() }
}

async function database({ controlConfig }: DataLayout): Promise<unknown> {
  const entry = `${repositoryRoot}/packages/control/src/describe-database.ts`
  const deadline = Deadline.after(QUERY_MS, 'describing the database')
  return JSON.parse(await runCommand(process.execPath, [entry, controlConfig], { deadline }))
}
