import type { Offshoot } from '../tests/setup/offshoot.ts'
import { firstOutput, ownStream } from './first-output.ts'
import { type Figure, rounds, Samples } from './measure.ts'

const TEMPLATE = 'code-interpreter'
/** Executions in each sandbox after its first one. */
const NEXT = 20
/** Of all sandboxes. */
const WITHIN_MS = 90_000

/**
 * The first result of the code interpreter in a new sandbox, and the following ones. Floor of both: `exec` of `true` in
 * the same sandbox.
 */
export async function codeResults(offshoot: Offshoot, n = 15): Promise<Record<string, Figure>> {
  const [first, next, exec] = [new Samples(), new Samples(), new Samples()]
  for (const _round of rounds(n, WITHIN_MS)) {
    const { id } = await offshoot.create({ template: TEMPLATE })
    try {
      await add(offshoot, id, first)
      for (let i = 0; i < NEXT; i++) {
        await exec.time(async () => offshoot.exec(id, 'true'))
        await add(offshoot, id, next)
      }
    } finally {
      await offshoot.delete(id)
    }
  }
  return { code_first_result: first.figure('ms', exec.p50), code_next_result: next.figure('ms', exec.p50) }
}

async function add(offshoot: Offshoot, id: string, samples: Samples): Promise<void> {
  const request = ownStream(offshoot, `/v1/sandboxes/${id}/code`, { code: '1+1' })
  const opened = await samples.time(async () => firstOutput(request, '"text":"2"'))
  await opened?.rest()
}
