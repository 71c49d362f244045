import { readFile } from 'node:fs/promises'
import { agentConfig, type AgentConfig } from '@offshoot/contract/process-config'

/** Reads the configuration file named by the program's one argument. @throws Error naming file and field */
export async function loadConfig(args: readonly string[]): Promise<AgentConfig> {
  const [path] = args
  if (path === undefined || args.length !== 1) throw new Error('usage: main.ts CONFIG')
  const result = agentConfig.safeParse(JSON.parse(await readFile(path, 'utf8')))
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new Error(`${path}: ${issue?.path.join('.')}: ${issue?.message}`)
}
