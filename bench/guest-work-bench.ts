import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '@offshoot/agent/machine/guest/command'
import type { GuestLink } from '@offshoot/guest-link/link'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { BASE, bootBaseline } from './baseline-boot.ts'
import { type Figure, rounds, Samples } from './measure.ts'

const COMMAND_MS = 120_000

interface Work {
  readonly name: string
  /** A shell command that does it `times` times. */
  readonly command: string
  readonly times: number
}

const repeated = (command: string, times: number) => `i=0; while [ $i -lt ${times} ]; do ${command}; i=$((i+1)); done`

const WORK: readonly Work[] = [
  { name: 'guest_work_true', command: repeated('/bin/true', 300), times: 300 },
  { name: 'guest_work_node_v', command: repeated('node -v', 10), times: 10 },
  { name: 'guest_work_python', command: repeated('python3 -c pass', 6), times: 6 },
  { name: 'guest_work_pipes_mib', command: `head -c ${128 * 1024 * 1024} /dev/zero | cat | cat`, times: 128 },
  {
    name: 'guest_work_small_file',
    command: `mkdir -p /root/d; ${repeated('echo text > /root/d/$i', 1500)}; cat /root/d/*; rm -r /root/d`,
    times: 1500,
  },
]

/**
 * The instructions that a guest runs for common work, kernel and program together, in millions. Their number hardly depends on
 * the machine or on what else it does, so it shows small differences, and there is no floor. Each work is done once before.
 */
export async function guestWork(offshoot: Offshoot, n = 3): Promise<Record<string, Figure>> {
  const counts = WORK.map((work) => ({ ...work, samples: new Samples() }))
  const folder = await mkdtemp(join(tmpdir(), 'guest-work-'))
  try {
    for (const _round of rounds(n, 120_000)) {
      await bootBaseline(offshoot, { ...BASE, folder: join(folder, 'vm'), isCounted: true }, async (link) => {
        for (const { command, times, samples } of counts) {
          await instructionsOf(link, command)
          samples.add((await instructionsOf(link, command)) / times / 1e6)
        }
      })
    }
  } finally {
    await rm(folder, { recursive: true })
  }
  return Object.fromEntries(counts.map(({ name, samples }) => [name, samples.figure('million')]))
}

/** By the guest's clock, which counts them. */
async function instructionsOf(link: GuestLink, command: string): Promise<number> {
  const script = `a=$(date +%s%N); { ${command}; } > /dev/null; b=$(date +%s%N); echo $((b - a))`
  const options = { stdin: undefined, maxBytes: 4096, stop: AbortSignal.timeout(COMMAND_MS) }
  const { stdout, stderr, exitCode } = await runCommand(link, { argv: ['/bin/sh', '-c', script] }, options)
  if (exitCode !== 0) throw new Error(`${command} ended with ${exitCode}: ${stderr.bytes.toString()}`)
  return Number(stdout.bytes.toString())
}
