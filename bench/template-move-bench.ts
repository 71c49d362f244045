import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { until } from '../tests/setup/until.ts'
import { bootBaseline } from './baseline-boot.ts'
import { type Figure, Samples } from './measure.ts'
import { TwoHosts } from './two-hosts.ts'

const run = promisify(execFile)
/** OFFSHOOT_BENCH_TEMPLATES: number of samples. */
const ROUNDS = Number(process.env['OFFSHOOT_BENCH_TEMPLATES'] ?? 5)
/** A typical installation: a file of 32 MiB that does not compress. */
const WORK = 'head -c 33554432 /dev/urandom > /root/installed; sync'
/** Milliseconds for a build, on a busy machine. */
const BUILD_MS = 120_000
const SIZE = { diskMib: 64, memoryMib: 128 }

/**
 * From the create of a sandbox from a built template on a host that never had it, until its answer. Floor: a copy of the
 * template's files to the disk of that host, and a boot from them by hand.
 */
export async function templateToNewHost(): Promise<Record<string, Figure>> {
  return TwoHosts.use('template-moves', async (hosts) => {
    const [created, floor] = [new Samples(), new Samples()]
    for (let round = 0; round < ROUNDS; round++) {
      const name = `bench-${round}`
      const id = await buildOnFirst(hosts, name)
      await seconds(floor, async () => copyAndBoot(hosts, id))
      await hosts.onlyOn(hosts.second, async () => {
        const made = await seconds(created, async () => hosts.offshoot.create({ template: name }))
        await hosts.offshoot.delete(made.id)
      })
      await hosts.offshoot.request('DELETE', `/v1/templates/${name}`)
    }
    return { template_to_new_host_s: created.figure('s', floor.p50) }
  })
}

async function seconds<T>(samples: Samples, work: () => Promise<T>): Promise<T> {
  const beganAt = performance.now()
  const result = await work()
  samples.add((performance.now() - beganAt) / 1000)
  return result
}

/** @returns the id of the template */
async function buildOnFirst(hosts: TwoHosts, name: string): Promise<string> {
  const { offshoot, first } = hosts
  return hosts.onlyOn(first, async () => {
    const sandbox = await offshoot.create({ template: 'minimal' })
    await offshoot.exec(sandbox.id, WORK)
    const { body: build } = await offshoot.request('POST', `/v1/sandboxes/${sandbox.id}/template`, { body: { name } })
    const isDone = async () => {
      const { body } = await offshoot.request('GET', `/v1/builds/${build.id}`)
      if (body.status === 'failed') throw new Error(body.error)
      return body.status === 'done'
    }
    await until('the end of a build', isDone, BUILD_MS)
    await offshoot.delete(sandbox.id)
    return build.id as string
  })
}

async function copyAndBoot({ offshoot, machine }: TwoHosts, id: string): Promise<void> {
  const folder = await mkdtemp(join(machine.dataDir, 'copied-'))
  try {
    const from = join(offshoot.dataDir, 'agent/templates', id)
    await run('cp', ['-r', '--sparse=always', '--reflink=never', from, folder])
    const rootfs = join(folder, id, 'rootfs.ext4')
    await run('sync', ['-f', rootfs])
    await bootBaseline(offshoot, { folder: join(folder, 'vm'), rootfs, ...SIZE }, async () => undefined)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
