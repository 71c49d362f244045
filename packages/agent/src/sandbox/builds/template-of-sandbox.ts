import { createHash } from 'node:crypto'
import { basename, join } from 'node:path'
import type { TemplateOfSandboxBody } from '@offshoot/contract/agent-build'
import { type BuildId, parseSnapshotId, type SnapshotId } from '@offshoot/contract/ids'
import type { TemplateImage } from '@offshoot/contract/template-image'
import type { Host, HostStore } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { takeSnapshot } from '../snapshots/take-snapshot.ts'
import { runningVm } from '../model/guest-access.ts'
import { deleteTemplate } from '../templates/delete-template.ts'
import { bakeFiles } from '../../store/bakes/bake-files.ts'
import { readBakeManifest } from '../../store/bakes/bake-manifest.ts'
import type { Build } from './build.ts'
import { buildFiles } from '../../store/builds/build-files.ts'
import { newBuildRecord } from '../../store/builds/build-record.ts'
import type { Builds } from './builds.ts'
import { takeDisk } from './source-disk.ts'

/**
 * Begins a build whose source is a sandbox. When this returns, the build is independent of the sandbox, which may change or be
 * deleted:
 *  - without memory, the build has hard links to the layers of the disk, which it boots;
 *  - with memory, the snapshot already is the template, and the build has nothing left to do.
 * If the agent is killed before that, the next agent deletes the links or the snapshot as orphans.
 * @throws ApiError 402, 404, 409 paused or id taken, 429, 507; then nothing is left behind
 */
export async function beginFromSandbox(
  host: Host,
  builds: Builds,
  sandbox: Sandbox,
  id: BuildId,
  body: TemplateOfSandboxBody,
): Promise<Build> {
  host.store.credit.refuseIfSpent(sandbox.workspaceId)
  builds.refuseMore(sandbox.workspaceId)
  await runningVm(sandbox)
  const folder = await builds.openUpload(id, sandbox.workspaceId)
  try {
    const image = await imageOf(host.store, sandbox, id, body)
    const source = body.memory
      ? await takeMemory(host, sandbox, id, image)
      : await takeFiles(host, sandbox, buildFiles(folder).source)
    const { cpu, memory_mb, disk_mb: size_mb } = image
    const whole = { ...image, version: source.sha256 }
    const fields = { name: body.name, size_mb, cpu, memory_mb, image: whole }
    return await builds.begin(newBuildRecord(id, sandbox.workspaceId, fields, source))
  } catch (error) {
    await builds.dropUpload(id)
    if (body.memory) await deleteTemplate(host, id)
    throw error
  }
}

interface Source {
  readonly bytes: number
  /** Identifies the content that was taken. */
  readonly sha256: string
}

async function takeFiles(host: Host, sandbox: Sandbox, folder: string): Promise<Source> {
  const { layers, bytes } = await takeDisk(host, sandbox, folder)
  return { bytes, sha256: nameOf(sandbox.manifest.bake, layers) }
}

async function takeMemory(host: Host, sandbox: Sandbox, id: BuildId, image: TemplateImage): Promise<Source> {
  const snapshotId = parseSnapshotId(id) as SnapshotId
  const { bake, size_bytes: bytes, layers, created_at } = await takeSnapshot(host, sandbox, snapshotId, 'template')
  const source = { bytes, sha256: nameOf(bake, layers, id) }
  const digest = `sha256:${source.sha256}`
  const memory = { bytes, fingerprint: basename(bake) }
  await host.store.templates.keep({ id, workspace_id: sandbox.workspaceId, image, digest, created_at, memory }, null)
  return source
}

/** Hashes names. A bake and its layers have unique names and immutable content, so their names identify the content. */
function nameOf(...parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/** The image of the sandbox's own template, with the caller's changes. */
async function imageOf(
  store: HostStore,
  { manifest }: Sandbox,
  id: BuildId,
  { name, start_cmd: start, ready_cmd: ready }: TemplateOfSandboxBody,
): Promise<TemplateImage> {
  const bake = await readBakeManifest(bakeFiles(join(store.dir.bakes, manifest.bake)).manifest)
  if (bake.state !== 'present') throw new Error(`the record of the bake ${manifest.bake} is ${bake.state}`)
  const { start_argv, ...from } = bake.record.image
  const { user, cwd } = manifest.run_as
  return {
    ...from,
    name: id,
    title: name,
    description: '',
    start_cmd: start === undefined ? from.start_cmd : orNull(start),
    // Do not inherit a global template's ready_cmd: it checks the original image, which the sandbox may have changed.
    ready_cmd: ready === undefined ? inherited(from) : orNull(ready),
    ...(start === undefined && start_argv !== undefined && { start_argv }),
    ...(user !== undefined && { user }),
    ...(cwd !== undefined && { cwd }),
  }
}

function inherited({ title, ready_cmd }: TemplateImage): string | null {
  return title === undefined ? null : ready_cmd
}

function orNull(command: string): string | null {
  return command === '' ? null : command
}
