import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { openAsBlob } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { until } from '../tests/setup/until.ts'
import { bootBaseline } from './baseline-boot.ts'
import { type Figure, rounds, Samples } from './measure.ts'

const run = promisify(execFile)
const MIB = 1024 * 1024
/** An image of 500 MiB, with as many files as a language runtime and its packages. */
const FOLDERS = 50
const FILES_IN_FOLDER = 100
const FILE_BYTES = (500 * MIB) / (FOLDERS * FILES_IN_FOLDER)
const SIZE_MIB = 1024
const MEMORY_MIB = 512
const BUILD_WITHIN_MS = 120_000

/** From the first byte of a tar to the finished template. Floor: `tar x`, `mke2fs -d` and one boot by hand. */
export async function templateBuild(offshoot: Offshoot, n = 3): Promise<Record<string, Figure>> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-bench-template-'))
  const [build, floor] = [new Samples(), new Samples()]
  try {
    const tar = await makeTar(folder)
    for (const round of rounds(n, 60_000)) {
      await build.time(async () => buildByService(offshoot, tar, `bench-${round}`))
      await offshoot.request('DELETE', `/v1/templates/bench-${round}`)
      await floor.time(async () => buildByHand(offshoot, folder, tar))
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return { template_build_tar_500mib: build.figure('ms', floor.p50) }
}

async function makeTar(folder: string): Promise<string> {
  const root = join(folder, 'root')
  for (let at = 0; at < FOLDERS; at++) {
    const path = join(root, `usr/lib/part-${at}`)
    await mkdir(path, { recursive: true })
    for (let file = 0; file < FILES_IN_FOLDER; file++)
      await writeFile(join(path, `file-${file}`), randomBytes(FILE_BYTES))
  }
  const tar = join(folder, 'image.tar')
  await run('tar', ['-C', root, '-cf', tar, '.'])
  await rm(root, { recursive: true })
  return tar
}

async function buildByService(offshoot: Offshoot, tar: string, name: string): Promise<void> {
  const query = new URLSearchParams({ name, size_mb: String(SIZE_MIB), memory_mb: String(MEMORY_MIB) })
  const { base_url: baseUrl, api_key: key } = offshoot.credentials
  const response = await fetch(`${baseUrl}/v1/templates/build?${query.toString()}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-tar' },
    body: await openAsBlob(tar),
  })
  const { id } = (await response.json()) as { id?: string }
  if (id === undefined) throw new Error(`build answered ${response.status}`)
  await until(
    'the end of a build',
    async () => {
      const { body } = await offshoot.request('GET', `/v1/builds/${id}`)
      if (body.status === 'failed') throw new Error(body.error)
      return body.status === 'done'
    },
    BUILD_WITHIN_MS,
  )
}

async function buildByHand(offshoot: Offshoot, folder: string, tar: string): Promise<void> {
  const root = join(folder, 'by-hand')
  const rootfs = join(folder, 'rootfs.ext4')
  await mkdir(root)
  try {
    await run('tar', ['-C', root, '-xf', tar])
    await run('mke2fs', ['-q', '-F', '-t', 'ext4', '-m', '0', '-d', root, rootfs, `${SIZE_MIB}M`])
    const machine = { folder: join(folder, 'vm'), rootfs, diskMib: SIZE_MIB, memoryMib: MEMORY_MIB }
    await bootBaseline(offshoot, machine, async () => undefined)
  } finally {
    for (const path of [root, rootfs]) await rm(path, { recursive: true, force: true })
  }
}

/** MiB on disk that an idle sandbox has to itself, and those that a fork adds. */
export async function diskOf(offshoot: Offshoot, n = 5): Promise<Record<string, Figure>> {
  const [sandbox, fork] = [new Samples(), new Samples()]
  for (const _round of rounds(n)) {
    const before = await usedMib(offshoot)
    const { id } = await offshoot.create({ template: 'base' })
    const created = await usedMib(offshoot)
    sandbox.add(created - before)
    const { body: child } = await offshoot.request('POST', `/v1/sandboxes/${id}/fork`)
    fork.add((await usedMib(offshoot)) - created)
    await offshoot.delete(child.id)
    await offshoot.delete(id)
  }
  return { disk_per_sandbox_mib: sandbox.figure('MiB'), disk_per_fork_mib: fork.figure('MiB') }
}

async function usedMib({ dataDir }: Offshoot): Promise<number> {
  const folders = ['sandboxes', 'layers', 'snapshots'].map((name) => join(dataDir, 'agent', name))
  const { stdout } = await run('du', ['-sck', ...folders])
  return Number.parseInt(stdout.trim().split('\n').at(-1) ?? '', 10) / 1024
}
