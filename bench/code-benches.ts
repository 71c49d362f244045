import type { Offshoot } from '../tests/setup/offshoot.ts'
import { readUntil } from './client-benches.ts'
import { type Figure, rounds, Samples } from './measure.ts'

const TEMPLATE = 'code-interpreter'
/** Later executions in each sandbox. */
const NEXT = 20

async function runCode({ credentials }: Offshoot, id: string): Promise<void> {
  const headers = { authorization: `Bearer ${credentials.api_key}`, 'content-type': 'application/json' }
  const url = `${credentials.base_url}/v1/sandboxes/${id}/code`
  await readUntil(await fetch(url, { method: 'POST', headers, body: '{"code":"1+1"}' }), 'event: result')
}

/** The first and the later results of Python code in new sandboxes. Floor: `exec` of `true` in the same sandboxes. */
export async function codeResults(offshoot: Offshoot, n = 10): Promise<Record<string, Figure>> {
  const [first, next, exec] = [new Samples(), new Samples(), new Samples()]
  for (const _ of rounds(n, 90_000)) {
    const { id } = await offshoot.create({ template: TEMPLATE })
    await exec.time(async () => offshoot.exec(id, 'true'))
    await first.time(async () => runCode(offshoot, id))
    for (let i = 0; i < NEXT; i++) {
      await next.time(async () => runCode(offshoot, id))
      await exec.time(async () => offshoot.exec(id, 'true'))
    }
    await offshoot.delete(id)
  }
  return { code_first_result: first.figure('ms', exec.p50), code_next_result: next.figure('ms', exec.p50) }
}
