import { readFile } from 'node:fs/promises'
import { controlSettings } from '@offshoot/contract/control-settings'
import { objectStore } from '@offshoot/contract/object-store'
import type { z } from 'zod'
import { SetupFailure } from '../base/setup-failure.ts'

/** Control's settings, and those that `bin/up` gives to the agent. */
const operatorSettings = controlSettings.extend({ objects: objectStore.optional() })
export type Settings = z.infer<typeof operatorSettings>

/**
 * Reads `DIR/settings.json`, the operator's settings beyond the command line
 * (`packages/contract/src/control-settings.ts`). Without a file, all defaults apply.
 *
 * @throws {SetupFailure} that names the invalid setting
 */
export async function readSettings(path: string): Promise<Settings> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}'
    throw new SetupFailure(`${path} cannot be read (${error.code}).`)
  })
  const result = operatorSettings.safeParse(asJson(text, path))
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
