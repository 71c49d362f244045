import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Offshoot } from './offshoot.ts'

/** Whether the warm pool has a guest of this template; `copy`: a copy of a zygote. */
export async function hasSpare(offshoot: Offshoot, template: string, kind: 'any' | 'copy' = 'any'): Promise<boolean> {
  const config = await readFile(join(offshoot.dataDir, 'config/agent.json'), 'utf8')
  const { listen } = JSON.parse(config) as { listen: { port: number } }
  const text = await (await fetch(`http://127.0.0.1:${listen.port}/metrics`)).text()
  const name = kind === 'copy' ? 'offshoot_agent_zygote_copies' : 'offshoot_agent_spares'
  return new RegExp(`^${name}\\{template="${template}"\\} [1-9]`, 'm').test(text)
}
