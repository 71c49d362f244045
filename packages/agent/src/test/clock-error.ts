import type { AgentProcess } from './agent-process.ts'

/** Seconds between a guest's clock and the time at which it was asked, however long that took; its `date` tells whole ones. */
export async function clockError(agent: AgentProcess, id: string): Promise<number> {
  const askedAt = Math.floor(Date.now() / 1000)
  const said = Number(await agent.sh(id, 'date +%s'))
  const answeredAt = Math.floor(Date.now() / 1000)
  return Math.max(0, askedAt - said, said - answeredAt)
}
