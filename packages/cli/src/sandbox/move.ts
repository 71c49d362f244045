import type { Sandbox } from '@offshoot/contract/sandbox'
import type { Cli } from '../frame/cli.ts'
import type { Line } from '../frame/command.ts'
import { forEach } from '../frame/for-each.ts'
import { resolve } from '../frame/resolve.ts'

type Move = 'pause' | 'resume' | 'hibernate' | 'wake'

/** Pauses, resumes, hibernates or wakes sandboxes. @param move the last segment of the route */
export async function runMove(
  cli: Cli,
  { operands, options }: Line<{ memory?: boolean }>,
  move: Move,
): Promise<number> {
  const api = await cli.api()
  const body = options.memory === false ? { memory: false } : {}
  const moved: Sandbox[] = []
  const code = await forEach(cli, operands, move, async (text) => {
    const id = await resolve(api, 'sandbox', text)
    const sandbox = await api.request(`POST /v1/sandboxes/{id}/${move}`, { path: { id }, body, signal: cli.signal })
    moved.push(sandbox)
    if (!options.json) cli.out.line(`${id} ${sandbox.status}`)
  })
  if (options.json) cli.out.json(moved)
  return code
}
