import { stat } from 'node:fs/promises'
import { dirname, join, posix, resolve as resolvePath } from 'node:path'
import { NotFoundError, type Offshoot } from '@offshoot/sdk'
import type { Cli } from '../frame/cli.ts'
import { type Action, operand } from '../frame/command.ts'
import { EXIT, Failure, UsageError } from '../frame/failure.ts'
import { resolve } from '../frame/resolve.ts'
import { Download } from './download.ts'
import { bodyOf, persist } from './persist.ts'
import { parsePlace, type Place } from './place.ts'
import { Tally } from './tally.ts'
import { Upload } from './upload.ts'

interface Options {
  readonly user?: string
}

/** One end of a copy after it was looked at. */
interface End extends Place {
  /** Of the sandbox; `null` for this machine. */
  readonly id: string | null
  readonly kind: 'file' | 'folder' | 'missing' | 'other'
  readonly mode: number
  readonly size: number
  /** Seconds. */
  readonly mtime: number
}

/** Paths that were left out and are shown. */
const MOST_SHOWN = 10

export const run: Action<Options> = async (cli, line) => {
  const [source, target] = [parsePlace(operand(line, 0)), parsePlace(operand(line, 1))]
  if (source.sandbox === null && target.sandbox === null)
    throw new UsageError('neither path is in a sandbox: write one as SANDBOX:/path')
  const { user, json } = line.options
  const api = await cli.api()
  const from = await look(cli, api, source, user)
  const to = await look(cli, api, target, user)
  const path = destination(from, to)
  const tally = new Tally(cli)
  try {
    await copy(cli, api, { from, to, path, user, tally })
  } finally {
    tally[Symbol.dispose]()
  }
  if (json) cli.out.json({ files: tally.files, bytes: tally.bytes, left_out: tally.leftOut })
  else if (cli.streams.stderr.isTTY === true) cli.out.note(`Copied ${tally.text}.`)
  for (const left of tally.leftOut.slice(0, MOST_SHOWN)) cli.out.note(`offshoot: left out: ${left}`)
  const others = tally.leftOut.length - MOST_SHOWN
  if (others > 0) cli.out.note(`offshoot: left out: ${others} more`)
  return tally.leftOut.length === 0 ? 0 : EXIT.failed
}

interface Job {
  readonly from: End
  readonly to: End
  readonly path: string
  readonly user: string | undefined
  readonly tally: Tally
}

async function copy(cli: Cli, api: Offshoot, job: Job): Promise<void> {
  const { from, to, path, user, tally } = job
  if (from.id !== null && to.id !== null) return between(cli, api, from.id, to.id, job)
  if (from.id !== null) {
    const root = from.kind === 'folder' ? path : dirname(path)
    const download = new Download(cli, api, { id: from.id, user }, root, tally)
    return from.kind === 'folder' ? download.folder(from.path) : download.file(from.path, path.slice(root.length), from)
  }
  const upload = new Upload(cli, api, { id: to.id ?? '', user }, tally)
  return from.kind === 'folder' ? upload.folder(from.path, path) : upload.file(from.path, path)
}

/** From one sandbox to another, through this machine. A broken connection begins it again. */
async function between(cli: Cli, api: Offshoot, fromId: string, toId: string, job: Job): Promise<void> {
  const { from, path, user, tally } = job
  const mode = from.mode.toString(8).padStart(4, '0')
  const call = { signal: cli.signal, timeoutMs: 0 }
  const headers = { 'content-type': 'application/octet-stream' }
  const read = { path: { id: fromId }, query: { path: from.path, user }, ...call }
  const write = { path: { id: toId }, query: { path, user }, headers, ...call }
  await persist(cli, async () => {
    tally.add(-tally.bytes)
    if (from.kind === 'folder') {
      const body = counted(await api.fetch('GET /v1/sandboxes/{id}/fs/archive', read), tally)
      tally.files = (await api.request('PUT /v1/sandboxes/{id}/fs/archive', { ...write, body })).entries
      return
    }
    const body = counted(await api.fetch('GET /v1/sandboxes/{id}/fs', read), tally)
    await api.request('PUT /v1/sandboxes/{id}/fs', { ...write, query: { ...write.query, mode }, body })
    tally.files = 1
  })
}

function counted(response: Response, tally: Tally): ReadableStream<Uint8Array> {
  return ReadableStream.from(
    (async function* () {
      for await (const chunk of bodyOf(response)) {
        tally.add(chunk.length)
        yield chunk
      }
    })(),
  )
}

const NOTHING = { mode: 0, size: 0, mtime: 0 }

async function look(cli: Cli, api: Offshoot, place: Place, user: string | undefined): Promise<End> {
  if (place.sandbox === null) return lookHere(place, resolvePath(cli.cwd, place.path))
  const id = await resolve(api, 'sandbox', place.sandbox)
  const request = { path: { id }, query: { path: place.path, user }, signal: cli.signal }
  try {
    const found = await api.request('GET /v1/sandboxes/{id}/fs/stat', request)
    const isLink = found.type === 'symlink'
    const type = isLink ? found.target_type : found.type
    const mode = Number.parseInt((isLink ? found.target_mode : found.mode) ?? found.mode, 8)
    const kind = type === 'dir' ? 'folder' : type === 'file' ? 'file' : 'other'
    return { ...place, id, kind, mode, size: found.size, mtime: found.mtime }
  } catch (error) {
    if (!(error instanceof NotFoundError) || /sandbox/.test(error.body.error)) throw error
    return { ...place, id, kind: 'missing', ...NOTHING }
  }
}

async function lookHere(place: Place, path: string): Promise<End> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return null
  })
  if (found === null) return { ...place, path, id: null, kind: 'missing', ...NOTHING }
  const kind = found.isDirectory() ? 'folder' : found.isFile() ? 'file' : 'other'
  return { ...place, path, id: null, kind, mode: found.mode, size: found.size, mtime: found.mtimeMs / 1000 }
}

/** The path that the copy gets, as with `cp -r`: below the target if that is a folder, else the target itself. */
function destination(from: End, to: End): string {
  const [source, target] = [shown(from), shown(to)]
  if (from.kind === 'missing') throw new Failure(`${source} does not exist`, { exitCode: EXIT.notFound })
  if (from.kind === 'other') throw new Failure(`${source} is no file and no folder`, { next: 'name another' })
  if (from.kind === 'file' && from.isFolder)
    throw new Failure(`${source} is no folder`, { next: 'leave out the slash' })
  if (to.kind === 'other' || (to.kind === 'file' && (to.isFolder || from.kind === 'folder')))
    throw new Failure(`${target} exists and is no folder`, { next: 'choose another path' })
  const goesInto = to.kind === 'folder' || (to.isFolder && from.kind === 'file')
  const path = goesInto ? joined(to, from.name) : to.path
  if (from.id === to.id && `${path}/`.startsWith(`${from.path}/`))
    throw new UsageError(`${source} cannot be copied into itself`)
  return path
}

function joined({ id, path }: End, name: string): string {
  return id === null ? join(path, name) : posix.join(path, name)
}

function shown({ sandbox, path }: End): string {
  return sandbox === null ? path : `${sandbox}:${path}`
}
