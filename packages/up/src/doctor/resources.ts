import { mkdtemp, open, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isPortFree } from '@offshoot/kit/free-port'
import { HOST } from '../config/configuration.ts'
import { availableMemoryBytes, freeDiskBytes, inGib, SETUP_NEEDS, START_NEEDS } from '../host/resources.ts'
import { type Finding, ok, problem, type Subject, warning } from './finding.ts'

const SYNCS = 16
const BLOCK = Buffer.alloc(4096, 1)
/** A create waits for a few of them. */
const SLOW_SYNC_MS = 50
/** The memory of a few sandboxes. */
const USUAL_MEMORY_BYTES = 4 * 1024 ** 3

export async function checkDisk({ layout, hasImages }: Subject): Promise<readonly Finding[]> {
  const needs = hasImages ? START_NEEDS : SETUP_NEEDS
  const places = [...new Set(await Promise.all([layout.dir, layout.imagesDir].map(existingFolder)))]
  return Promise.all(
    places.map(async (place) => {
      const free = await freeDiskBytes(place)
      const finding = `${inGib(free)} GiB are free at ${place}`
      return free >= needs.diskBytes
        ? ok('disk', finding)
        : problem('disk', `${finding}, ${inGib(needs.diskBytes)} GiB are needed`, 'Free space, or choose --data-dir')
    }),
  )
}

/** Writes and syncs a small file, and removes it. */
export async function checkSync({ layout }: Subject): Promise<Finding> {
  const place = await existingFolder(layout.dir)
  try {
    const medianMs = await syncMs(place)
    const finding = `a write reaches the disk of ${place} in ${medianMs.toFixed(1)} ms`
    return medianMs < SLOW_SYNC_MS
      ? ok('fsync', finding)
      : warning('fsync', `${finding}, which slows every create`, 'Put --data-dir on a local SSD')
  } catch (error) {
    return problem(
      'fsync',
      `nothing can be written at ${place} (${(error as NodeJS.ErrnoException).code})`,
      'Choose another --data-dir, or change the owner of this one',
    )
  }
}

async function syncMs(place: string): Promise<number> {
  const folder = await mkdtemp(join(place, '.offshoot-doctor-'))
  try {
    const file = await open(join(folder, 'sync'), 'w')
    try {
      const took: number[] = []
      for (let count = 0; count < SYNCS; count++) {
        const startedAt = performance.now()
        await file.write(BLOCK)
        await file.sync()
        took.push(performance.now() - startedAt)
      }
      return took.toSorted((a, b) => a - b)[SYNCS / 2] ?? 0
    } finally {
      await file.close()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

export async function checkMemory({ hasImages }: Subject): Promise<Finding> {
  const needs = hasImages ? START_NEEDS : SETUP_NEEDS
  const available = availableMemoryBytes(await readFile('/proc/meminfo', 'utf8'))
  const finding = `${inGib(available)} GiB are available`
  if (available < needs.memoryBytes)
    return problem(
      'memory',
      `${finding}, ${inGib(needs.memoryBytes)} GiB are needed`,
      'End other programs, or add memory',
    )
  if (available < USUAL_MEMORY_BYTES)
    return warning('memory', finding, 'A few sandboxes need 4 GiB; OFFSHOOT_POOL_MIB=0 saves 512 MiB')
  return ok('memory', finding)
}

/** A port that the user names must be free. Of the others, a start takes a free one instead. */
export async function checkPorts({ args, isRunning }: Subject): Promise<readonly Finding[]> {
  if (isRunning) return [ok('ports', 'Offshoot runs in this data directory and uses its ports')]
  const wanted = [
    { flag: '--port', port: args.port, isFixed: true },
    { flag: '--edge-port', port: args.edgePort ?? 8081, isFixed: args.edgePort !== null },
    { flag: '--database-port', port: args.databasePort ?? 5433, isFixed: args.databasePort !== null },
    { flag: '--e2b-port', port: args.e2bPort ?? 8082, isFixed: args.e2bPort !== null },
    { flag: '--ssh-port', port: args.sshPort ?? 2222, isFixed: args.sshPort !== null },
  ]
  const taken: Finding[] = []
  for (const { flag, port, isFixed } of wanted) {
    if (port === 0 || (await isPortFree(HOST, port))) continue
    taken.push(
      isFixed
        ? problem('ports', `port ${port} is taken`, `Choose another one with ${flag}`)
        : warning('ports', `port ${port} is taken: a start uses a free one instead`, `Choose one with ${flag}`),
    )
  }
  const ports = wanted.map(({ port }) => port).filter((port) => port !== 0)
  return taken.length > 0 ? taken : [ok('ports', `${ports.join(', ')} are free`)]
}

async function existingFolder(path: string): Promise<string> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
  return isFolder || dirname(path) === path ? path : existingFolder(dirname(path))
}
