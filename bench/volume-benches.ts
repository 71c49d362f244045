import { execFile } from 'node:child_process'
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { runCommand } from '@offshoot/agent/machine/guest/command'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { BASE, bootBaseline } from './baseline-boot.ts'
import { type Figure, inMibPerSecond, rounds, Samples } from './measure.ts'

const run = promisify(execFile)
const TEMPLATE = 'base'
const VOLUME = 'bench'
const SIZE_MIB = 1024
const SEQUENTIAL_MIB = 128
const SYNCS = 100
const COMMAND_MS = 60_000

/**
 * Writes to the volume: one file at once, and many small pieces with an fsync each. Prints the durations in
 * nanoseconds.
 */
const WRITER = `
import glob, os, subprocess, time
[serial] = [each for each in glob.glob('/sys/block/vd*/serial') if open(each).read().startswith('vol0')]
os.makedirs('/v', exist_ok=True)
if not os.path.ismount('/v'): subprocess.check_call(['mount', '/dev/' + serial.split('/')[3], '/v'])
piece = os.urandom(1 << 20)
start = time.perf_counter_ns()
file = os.open('/v/sequential', os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
for _ in range(${SEQUENTIAL_MIB}): os.write(file, piece)
os.fsync(file)
sequential = time.perf_counter_ns() - start
os.close(file)
file = os.open('/v/synced', os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
start = time.perf_counter_ns()
for at in range(${SYNCS}):
    os.pwrite(file, piece[:4096], at * 4096)
    os.fsync(file)
print(sequential, time.perf_counter_ns() - start)
`

async function withVolume<T>(offshoot: Offshoot, use: (body: object) => Promise<T>): Promise<T> {
  const { status, text } = await offshoot.request('POST', '/v1/volumes', { body: { name: VOLUME, size_mb: SIZE_MIB } })
  if (status !== 201) throw new Error(`a volume answered ${status}: ${text}`)
  try {
    return await use({ template: TEMPLATE, volumes: [{ name: VOLUME }] })
  } finally {
    await offshoot.request('DELETE', `/v1/volumes/${VOLUME}`)
  }
}

/** A POST with a volume to its 201. Floor: the same without one. */
export async function createWithVolume(offshoot: Offshoot, n = 40): Promise<Record<string, Figure>> {
  const [attached, plain] = [new Samples(), new Samples()]
  await withVolume(offshoot, async (body) => {
    for (const _round of rounds(n)) {
      for (const [samples, asked] of [[attached, body] as const, [plain, { template: TEMPLATE }] as const]) {
        const sandbox = await samples.time(async () => offshoot.create({ ...asked }))
        if (sandbox) await offshoot.delete(sandbox.id)
      }
    }
  })
  return { create_with_volume: attached.figure('ms', plain.p50) }
}

/** Writes in a sandbox with a volume. Floor: a VM with the same kind of disk, booted by hand. Alternately. */
export async function volumeWrites(offshoot: Offshoot, n = 5): Promise<Record<string, Figure>> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-bench-volume-'))
  const path = join(folder, 'disk')
  const samples = { service: [new Samples(), new Samples()], byHand: [new Samples(), new Samples()] } as const
  try {
    await writeFile(path, '')
    await truncate(path, SIZE_MIB * 1024 * 1024)
    await run('mke2fs', ['-q', '-F', '-t', 'ext4', path])
    const volumes = [{ place: 0, isReadOnly: false, path, isNew: false }]
    const machine = { ...BASE, folder: join(folder, 'vm'), volumes }
    await withVolume(offshoot, async (body) => {
      const { id } = await offshoot.create({ ...body })
      await bootBaseline(offshoot, machine, async (link) => {
        for (const _round of rounds(n)) {
          note(samples.service, (await offshoot.exec(id, `python3 -c "${WRITER}"`)).stdout)
          const options = { stdin: undefined, maxBytes: 4096, stop: AbortSignal.timeout(COMMAND_MS) }
          const { stdout, stderr } = await runCommand(link, { argv: ['python3', '-c', WRITER] }, options)
          note(samples.byHand, stdout.bytes.toString() || stderr.bytes.toString())
        }
      })
      await offshoot.delete(id)
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  const [[sequential, synced], [floor, syncedFloor]] = [samples.service, samples.byHand]
  const rate = inMibPerSecond(synced, SYNCS, syncedFloor)
  return {
    volume_seq_write_mib_s: inMibPerSecond(sequential, SEQUENTIAL_MIB, floor),
    volume_fsync_per_s: { ...rate, unit: '1/s' },
  }
}

function note([sequential, synced]: readonly [Samples, Samples], printed: string): void {
  const [first, second] = printed.trim().split(' ').map(Number)
  if (first === undefined || second === undefined || Number.isNaN(first)) throw new Error(`no figures: ${printed}`)
  sequential.add(first / 1e6)
  synced.add(second / 1e6)
}
