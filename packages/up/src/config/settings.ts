import { readFile } from 'node:fs/promises'
import { controlSettings } from '@offshoot/contract/control-settings'
import type { z } from 'zod'
import { SetupFailure } from '../setup-failure.ts'

export type Settings = z.infer<typeof controlSettings>

/**
 * `DIR/settings.json`: what an operator chooses beyond the command line, as `contract/control-settings.ts` describes it. Where
 * there is no file, the defaults.
 *
 * @throws {SetupFailure} which names what is wrong with it
 */
export async function readSettings(path: string): Promise<Settings> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}'
    throw new SetupFailure(`${path} cannot be read (${error.code}).`)
  })
  const result = controlSettings.safeParse(asJson(text, path))
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new SetupFailure(`${path} is not right: ${issue?.path.join('.') || 'it'}: ${issue?.message}.`)
}

function asJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new SetupFailure(`${path} is not JSON.`)
  }
}
