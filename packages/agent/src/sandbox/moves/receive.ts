import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { BAKE_MISSING } from '@offshoot/contract/agent-move'
import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import type { AnyHeader, StreamHeader } from '@offshoot/contract/move-stream'
import type { Deadline } from '@offshoot/kit/deadline'
import type { z } from 'zod'
import { bakeFiles } from '../../store/bakes/bake-files.ts'
import { IMPORTED } from '../../store/bakes/bake-content.ts'
import { CheckpointDamaged } from '../../store/checkpoints/checkpoint-errors.ts'
import { isDiskFull } from '../../store/data-dir/full-disk.ts'
import { removeTree } from '../../store/data-dir/folders.ts'
import { isPresent } from '../../store/ledger/is-present.ts'
import { MoveDamaged } from '../../store/moves/move-damaged.ts'
import { readMove } from '../../store/moves/move-stream.ts'
import { sweepBakesSoon } from '../cleanup/sweep-bakes.ts'
import type { Host, HostStore } from '../model/host.ts'
import type { Arrival, ArrivalId } from '../model/arrivals.ts'
import { ArrivingFiles, BAKE } from './arriving-files.ts'
import { keepBake } from './keep-bake.ts'

/** Milliseconds to verify and sync everything after the last byte has come. */
export const KEEP_MS = 3_600_000

/** What arrives from another host. */
export interface Arriving {
  readonly id: ArrivalId
  readonly workspaceId: WorkspaceId
  readonly moveId: string
}

/**
 * Receives something in an empty folder below `arrivals/`. If `receive` fails, or the agent is killed, nothing of it is left.
 * @param mode of the folder
 * @throws ApiError 400 damaged, 409, 507
 */
export async function receiveInFolder<T>(
  host: Host,
  asked: Arriving,
  { body, mode }: { readonly body: Readable; readonly mode: number },
  receive: (arrival: Arrival, folder: string) => Promise<T>,
): Promise<T> {
  if (host.platform.qemus.current.jail === null) {
    throw new ApiError('conflict', { detail: 'this host has no jail for what other hosts have made' })
  }
  return host.arrivals.receive(asked.id, asked, async (arrival) => {
    const stop = () => body.destroy(arrival.cancelling.signal.reason as Error)
    arrival.cancelling.signal.addEventListener('abort', stop, { once: true })
    const folder = join(host.store.dir.arrivals, asked.id)
    try {
      await removeTree(folder)
      await mkdir(folder, { mode })
      return await receive(arrival, folder)
    } catch (error) {
      await removeRest(host, arrival, folder)
      throw refusalOf(host, asked.id, error)
    }
  })
}

export interface Received<Header extends StreamHeader> {
  readonly header: Header
  /** `NAME/FINGERPRINT` on this host. */
  readonly bake: string
  readonly files: ArrivingFiles
}

/** A stream and what it must be. */
export interface Incoming<Header extends AnyHeader> {
  readonly body: Readable
  readonly schema: z.ZodType<Header>
  /** Throws if the header belongs to something else than control has announced. */
  readonly check: (header: Header) => void
}

/** Reads a stream with the state of a VM into the folder. */
export async function receiveFiles<Header extends StreamHeader>(
  host: Host,
  arrival: Arrival,
  files: ArrivingFiles,
  incoming: Incoming<Header>,
): Promise<Received<Header>> {
  return receivedIn(arrival, await readFiles(host, arrival, files, incoming), files)
}

/** The header of a stream that was read, with the bake that it needs. */
export function receivedIn<Header extends StreamHeader>(
  { bake }: Arrival,
  header: Header,
  files: ArrivingFiles,
): Received<Header> {
  if (bake === null) throw new MoveDamaged('the stream has no bake')
  return { header, bake, files }
}

/** Reads any stream into the folder. @returns its header */
export async function readFiles<Header extends AnyHeader>(
  { store }: Host,
  arrival: Arrival,
  files: ArrivingFiles,
  { body, schema, check }: Incoming<Header>,
): Promise<Header> {
  let header: Header | null = null
  await readMove(body, schema, {
    header: async (read) => {
      check(read)
      header = read
      if ('bake' in read) arrival.bake = await placeOfBake(store, read.bake)
      await files.admit(read.disk_bytes)
      if ('bake' in read) await files.prepare(read)
    },
    file: (file, read) => files.receive(file, read),
  })
  // The compiler does not see the assignment.
  const received = header as Header | null
  if (received === null) throw new MoveDamaged('the stream has no header')
  return received
}

/** @throws ApiError 409 if it is neither here nor in the stream */
async function placeOfBake(
  { bakeContents }: Pick<HostStore, 'bakeContents'>,
  { hash, is_included: isIncluded }: StreamHeader['bake'],
): Promise<string> {
  const found = await bakeContents.find(hash)
  if (found === null && !isIncluded) throw bakeMissing()
  return found ?? `${IMPORTED}/${hash}`
}

/** Verifies the bake that came with it, and gives it its place, unless this host has it. */
export async function keepReceivedBake(
  { store }: Host,
  { header, bake }: Pick<Received<StreamHeader>, 'header' | 'bake'>,
  folder: string,
  deadline: Deadline,
): Promise<void> {
  if (!header.bake.is_included) return
  const ofBake = join(folder, BAKE)
  if (bake === `${IMPORTED}/${header.bake.hash}`) await keepBake(store, ofBake, header, deadline)
  await removeTree(ofBake)
}

/** The last look before the rename that completes an import. */
export async function requireBake({ store }: Host, { cancelling, bake }: Arrival): Promise<void> {
  cancelling.signal.throwIfAborted()
  // A sweep may have begun before it could know of this import.
  if (!(await isPresent(bakeFiles(join(store.dir.bakes, bake ?? '')).manifest))) throw bakeMissing()
}

function bakeMissing(): ApiError {
  return new ApiError('conflict', { detail: BAKE_MISSING })
}

async function removeRest(host: Host, { layers }: Arrival, folder: string): Promise<void> {
  try {
    await removeTree(folder)
    for (const id of layers) await rm(host.store.layers.path(id), { force: true })
  } catch (error) {
    // The next start and the sweep of layers remove the rest.
    host.log.warn({ err: error }, 'remains of an import not removed')
  }
  sweepBakesSoon(host)
}

function refusalOf(host: Host, id: string, error: unknown): unknown {
  if (error instanceof MoveDamaged || error instanceof CheckpointDamaged) {
    host.log.warn({ err: error, id }, 'the stream of an import is damaged')
    return new ApiError('invalidField', { error: `the stream is damaged: ${error.message}` }, { cause: error })
  }
  if (isDiskFull(error)) return new ApiError('sandboxStorage', {}, { cause: error })
  return error
}
