import { readFile } from 'node:fs/promises'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'

/**
 * The earlier QEMUs and time-stamp counters of this host. Needed to recognise checkpoints that name their machine in the
 * earlier form (`earlier-fingerprint.ts`), which depends on QEMU's file at that time.
 */
const earlierMachines = z.array(z.object({ version: z.string(), build: z.string(), tsc_khz: z.number() }))
export type EarlierMachine = z.infer<typeof earlierMachines>[number]

/** Maximum entries. No sandbox is hibernated for more updates than that. */
const MAX_MACHINES = 16

/**
 * Adds the result of the earlier agent's probe, before this agent probes again.
 * @param acceleratorFile the result of that probe; if it is unreadable, nothing is added
 */
export async function learnEarlierMachine(path: string, acceleratorFile: string): Promise<readonly EarlierMachine[]> {
  const known = await read(path, (text) => earlierMachines.parse(JSON.parse(text)), [])
  const last = await read(acceleratorFile, parseProbe, null)
  if (last === null || known.some((each) => isSame(each, last))) return known
  const learnt = [last, ...known].slice(0, MAX_MACHINES)
  await writeFileDurably(path, `${JSON.stringify(learnt)}\n`)
  return learnt
}

const probe = z.object({ tsc_khz: z.number(), tried: z.string() })

/** `tried` begins with QEMU's version, size and time. */
function parseProbe(text: string): EarlierMachine | null {
  const { tsc_khz, tried } = probe.parse(JSON.parse(text))
  const [, version, build] = /^(\d+\.\d+\.\d+) (\d+-\d+) \S/.exec(tried) ?? []
  return version === undefined || build === undefined ? null : { version, build, tsc_khz }
}

function isSame(a: EarlierMachine, b: EarlierMachine): boolean {
  return a.version === b.version && a.build === b.build && a.tsc_khz === b.tsc_khz
}

async function read<T>(path: string, parse: (text: string) => T, otherwise: T): Promise<T> {
  return readFile(path, 'utf8')
    .then(parse)
    .catch(() => otherwise)
}
