/** A program in TypeScript with other makers' packages. The tests compile it against the published types. */
import type { Offshoot, Sandbox } from '@offshoot/sdk'
import { sandboxTools } from '@offshoot/sdk/ai'
import { offshoot } from '@offshoot/sdk/computesdk'
import { generateText, type LanguageModel } from 'ai'
import { compute } from 'computesdk'

export async function runAgent(client: Offshoot, model: LanguageModel): Promise<readonly string[]> {
  const sandbox: Sandbox = await client.sandboxes.create()
  const { toolResults } = await generateText({ model, prompt: 'try', tools: sandboxTools(sandbox, { cwd: '/work' }) })
  return toolResults.flatMap((result) =>
    !result.dynamic && result.toolName === 'runCommand' ? [result.input.command, result.output.stdout] : [],
  )
}

export async function runCommand(): Promise<number> {
  compute.setConfig({ provider: offshoot({ apiKey: 'ofs_…', template: 'base' }) })
  const sandbox = await compute.sandbox.create({ templateId: 'base' })
  const native = (await offshoot().sandbox.getById(sandbox.sandboxId))?.getInstance()
  const files: readonly string[] = (await native?.files.list('/'))?.map(({ name }) => name) ?? []
  return (await sandbox.runCommand(`echo ${files.length}`)).exitCode
}
