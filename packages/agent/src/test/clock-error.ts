import type { AgentProcess } from './agent-process.ts'

/** Error of a guest's clock in seconds. 0 if `date` prints a time between request and answer; `date` has a resolution of 1 s. */
export async function clockError(agent: AgentProcess, id: string): Promise<number> {
  const askedAt = Math.floor(Date.now() / 1000)
  const said = Number(await agent.sh(id, 'date +%s'))
  const answeredAt = Math.floor(Date.now() / 1000)
  return Math.max(0, askedAt - said, said - answeredAt)
}
