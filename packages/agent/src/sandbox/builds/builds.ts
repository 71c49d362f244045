/**
 * The builds of one agent: `builds/ID`.
 *
 *     (upload) ──begin──► queued ──► running ──► baking ──► done
 *                           └──────────┴───────────┴─────► failed
 *
 * Invariants:
 *  - Every change of status is on disk before the next step begins.
 *  - A folder without a record is an upload without a build. The next agent deletes it.
 *  - A build that was running when its agent died begins once more, from the upload. If it is interrupted twice, it fails.
 *  - The template is kept before its build is `done`.
 */
import { join } from 'node:path'
import { ApiError } from '@offshoot/contract/errors'
import { parseBuildId, type BuildId, type WorkspaceId } from '@offshoot/contract/ids'
import type { Host } from '../model/host.ts'
import { isDiskFull } from '../../store/data-dir/full-disk.ts'
import { Semaphore } from '@offshoot/kit/semaphore'
import { deleteTemplate } from '../templates/delete-template.ts'
import type { BakedTemplate } from '../../machine/bakes/bakes.ts'
import type { BakeImages } from '../../store/bakes/images.ts'
import { Build } from './build.ts'
import { BuildFailure, failureSentence } from '../../store/builds/build-failure.ts'
import { buildFiles, listBuilds, removeLargeFiles } from '../../store/builds/build-files.ts'
import { BuildLog } from '../../store/builds/build-log.ts'
import { isEnded, readBuildRecord, writeBuildRecord, type BuildRecord } from '../../store/builds/build-record.ts'
import { runBuild } from './run-build.ts'

/** Concurrent builds on one agent: one unpacks while another boots. */
const AT_ONCE = 2
const MAX_WAITING = 256
/** Maximum builds of one workspace that have not ended. */
const MAX_PER_WORKSPACE = 8
/** Ended builds whose records and logs are kept. */
const MAX_ENDED = 256
/** A build that was begun so often without ending probably crashes the agent. */
const MAX_ATTEMPTS = 2

export interface BuildsOptions {
  readonly host: Host
  readonly images: Pick<BakeImages, 'kernel' | 'initramfs' | 'bootHash'>
  /** The template of the unpacking VM; `null` while this agent has none. */
  readonly worker: () => BakedTemplate | null
  readonly stopping: AbortSignal
}

export class Builds {
  readonly #options: BuildsOptions
  readonly #builds = new Map<BuildId, Build>()
  /** Uploads in progress, and complete ones whose build was not begun. */
  readonly #uploads = new Set<BuildId>()
  readonly #semaphore = new Semaphore(AT_ONCE, MAX_WAITING)

  constructor(options: BuildsOptions) {
    this.#options = options
  }

  get all(): Build[] {
    return [...this.#builds.values()]
  }

  /** `null` for an unknown build and for another workspace's. */
  find(id: BuildId | null, workspaceId: WorkspaceId | null): Build | null {
    const build = id === null ? undefined : this.#builds.get(id)
    if (build === undefined || (workspaceId !== null && build.record.workspace_id !== workspaceId)) return null
    return build
  }

  folder(id: BuildId): string {
    return join(this.#options.host.store.dir.builds, id)
  }

  /** At the agent's start, before it serves requests: continues the builds of its predecessor. */
  async recover(): Promise<void> {
    const { host } = this.#options
    for (const name of await listBuilds(host.store.dir.builds)) {
      const id = parseBuildId(name)
      if (id === null) continue
      const record = host.store.ledger.unreadable.take('build', id, await readBuildRecord(this.folder(id)))
      if (record !== null) await this.#take(record)
      else if (!host.store.ledger.unreadable.has('build', id))
        await host.store.ledger.settleUnrecorded('build', id, this.folder(id))
    }
    await this.#forgetOld()
  }

  /** Creates a folder for an upload. @throws ApiError 409 id taken, 507 */
  async openUpload(id: BuildId, workspaceId: string | null): Promise<string> {
    await this.#options.host.store.room.admit('template')
    const isUnreadable = this.#options.host.store.ledger.unreadable.has('build', id)
    if (this.#builds.has(id) || this.#uploads.has(id) || isUnreadable) {
      throw new ApiError('conflict', { detail: 'a build with this id is already here' })
    }
    this.#uploads.add(id)
    await this.#options.host.store.ledger.begin(this.folder(id), { workspace_id: workspaceId, of: null }, 0o711)
    return this.folder(id)
  }

  /** Deletes an upload that failed or expired. */
  async dropUpload(id: BuildId): Promise<void> {
    if (!this.#uploads.has(id)) return
    await this.#discard(id, 'its upload came to nothing')
    this.#uploads.delete(id)
  }

  /** @throws ApiError 429 */
  refuseMore(workspaceId: string): void {
    const active = this.all.filter(({ record }) => record.workspace_id === workspaceId && !isEnded(record)).length
    if (active >= MAX_PER_WORKSPACE) throw new ApiError('tooManyBuilds', { max: MAX_PER_WORKSPACE, active })
  }

  /** Enqueues a build, durably. @throws ApiError 404 nothing was uploaded, 429 */
  async begin(record: BuildRecord): Promise<Build> {
    if (!this.#uploads.has(record.id)) throw new ApiError('notFound', { detail: 'nothing was uploaded for this build' })
    this.refuseMore(record.workspace_id)
    const build = await this.#add(record)
    this.#uploads.delete(record.id)
    try {
      await writeBuildRecord(this.folder(record.id), record)
      await this.#options.host.store.ledger.finish(this.folder(record.id))
    } catch (error) {
      this.#builds.delete(record.id)
      await this.#discard(record.id, 'its record could not be written')
      throw isDiskFull(error) ? new ApiError('templateStorage', {}, { cause: error }) : error
    }
    this.#enqueue(build)
    return build
  }

  /** Cancels a build, and returns when no part of it is running. No effect on an ended build. */
  async cancel(build: Build): Promise<void> {
    build.cancelled.abort(new BuildFailure('cancelled'))
    await build.running
  }

  /** Deletes an ended build's record and log. */
  async #forget({ record: { id } }: Build): Promise<void> {
    this.#builds.delete(id)
    await this.#discard(id, 'it ended long ago')
  }

  async #discard(id: BuildId, reason: string): Promise<void> {
    await this.#options.host.store.ledger.discard('build', this.folder(id), reason)
  }

  async #add(record: BuildRecord): Promise<Build> {
    const log = await BuildLog.open(buildFiles(this.folder(record.id)).log, this.#options.host.log, isEnded(record))
    const build = new Build(record, log)
    log.stage = record.stage
    log.percent = record.percent
    this.#builds.set(record.id, build)
    return build
  }

  async #take(record: BuildRecord): Promise<void> {
    const build = await this.#add(record)
    if (isEnded(record)) return
    if (this.#options.host.store.templates.find(record.id, null) !== null) {
      await this.#finish(build)
    } else if (record.attempts >= MAX_ATTEMPTS) {
      await this.#fail(build, new BuildFailure('the service was interrupted twice'))
    } else {
      if (record.attempts > 0) build.log.say('the service was interrupted: the build begins again', 'waiting', 0)
      this.#enqueue(build)
    }
  }

  #enqueue(build: Build): void {
    const { signal } = build.cancelled
    const { host, stopping } = this.#options
    build.running = this.#semaphore
      .run(() => this.#run(build), signal)
      .catch((error: unknown) => this.#fail(build, error))
      .catch((error: unknown) => {
        if (!stopping.aborted) host.log.error({ err: error, build_id: build.record.id }, 'build lost')
      })
  }

  async #run(build: Build): Promise<void> {
    const { host, images, worker, stopping } = this.#options
    // Begin nothing during shutdown. The next agent ends this one's VMs and begins interrupted builds again.
    stopping.throwIfAborted()
    // A template with memory was complete before its build began.
    if (host.store.templates.find(build.record.id, null) !== null) return this.#finish(build)
    const attempts = build.record.attempts + 1
    await this.#change(build, { status: 'running', attempts, started_at: new Date().toISOString() })
    const onBaking = () => this.#change(build, { status: 'baking' })
    const place = { host, images, worker: worker(), folder: this.folder(build.record.id), log: build.log, onBaking }
    const { id, workspace_id } = build.record
    await host.store.templates.whileBuilding(id, async () => {
      const { image, baked, digest, disk } = await runBuild(place, build.record, build.cancelled.signal)
      build.cancelled.signal.throwIfAborted()
      const record = { id, workspace_id, image, digest, created_at: new Date().toISOString(), memory: null }
      await host.store.templates.keep(record, disk)
      host.store.templates.setBaked(record, baked)
    })
    await this.#finish(build)
  }

  async #finish(build: Build): Promise<void> {
    build.log.say(`template ${build.record.name} is done`, 'done', 100)
    await this.#end(build, { status: 'done', stage: 'done', percent: 100, error: null })
  }

  async #fail(build: Build, error: unknown): Promise<void> {
    const { host, stopping } = this.#options
    if (stopping.aborted && !build.cancelled.signal.aborted) return
    const cause = build.cancelled.signal.aborted ? build.cancelled.signal.reason : explainHost(error)
    const { stage, percent } = build.log
    const sentence = failureSentence(stage, cause)
    if (!(cause instanceof BuildFailure)) host.log.error({ err: cause, build_id: build.record.id }, 'build failed')
    build.log.say(sentence)
    await deleteTemplate(host, build.record.id)
    await this.#end(build, { status: 'failed', stage, percent, error: sentence })
  }

  /** Ends a build: deletes its large files, and keeps the record and the log. */
  async #end(build: Build, last: Pick<BuildRecord, 'status' | 'stage' | 'percent' | 'error'>): Promise<void> {
    await build.log.settle()
    const change = { ...last, ended_at: new Date().toISOString() }
    try {
      await this.#change(build, change).catch(async (error: unknown) => {
        if (!isDiskFull(error)) throw error
        // Deleting the build's files makes room for its final record.
        await removeLargeFiles(this.folder(build.record.id))
        await this.#change(build, change)
      })
    } finally {
      // Followers must end, even if the record could not be written.
      build.log.end()
    }
    await removeLargeFiles(this.folder(build.record.id))
    await this.#forgetOld()
  }

  async #change(build: Build, change: Partial<BuildRecord>): Promise<void> {
    const { stage, percent } = build.log
    build.record = { ...build.record, stage, percent, ...change }
    await writeBuildRecord(this.folder(build.record.id), build.record)
  }

  async #forgetOld(): Promise<void> {
    const ended = this.all
      .filter(({ record }) => isEnded(record))
      .toSorted((a, b) => (a.record.created_at < b.record.created_at ? -1 : 1))
    for (const build of ended.slice(0, Math.max(0, ended.length - MAX_ENDED))) await this.#forget(build)
  }
}

function explainHost(error: unknown): unknown {
  if (error instanceof ApiError) return new BuildFailure(error.message, { cause: error })
  return isDiskFull(error) ? new BuildFailure('the host has no room left for it', { cause: error }) : error
}
