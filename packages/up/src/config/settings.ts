import { readFile } from 'node:fs/promises'
import { controlSettings, ownCertificateName } from '@offshoot/contract/control-settings'
import { objectStore } from '@offshoot/contract/object-store'
import type { z } from 'zod'
import type { TlsArguments } from '../base/addresses.ts'
import { SetupFailure } from '../base/setup-failure.ts'

/** Control's settings, and those that `bin/up` gives to the agent. */
const operatorSettings = controlSettings.extend({ objects: objectStore.optional() })
export type Settings = z.infer<typeof operatorSettings>

/**
 * Reads `DIR/settings.json`, the operator's settings beyond the command line
 * (`packages/contract/src/control-settings.ts`). Without a file, all defaults apply.
 *
 * @param tls overrides the file
 * @throws {SetupFailure} that names the invalid setting
 */
export async function readSettings(path: string, tls: TlsArguments | null = null): Promise<Settings> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}'
    throw new SetupFailure(`${path} cannot be read (${error.code}).`)
  })
  const result = operatorSettings.safeParse(withTls(asJson(text, path), tls))
  if (!result.success) {
    const [issue] = result.error.issues
    throw new SetupFailure(`${path} is not right: ${issue?.path.join('.') || 'it'}: ${issue?.message}.`)
  }
  try {
    ownCertificateName(result.data)
  } catch (error) {
    throw new SetupFailure(`${path} is not right: ${(error as Error).message}.`)
  }
  return result.data
}

/** The addresses of the port stay as the file says. */
function withTls(settings: unknown, tls: TlsArguments | null): unknown {
  if (tls === null || typeof settings !== 'object' || settings === null) return settings
  const { tls: found, public_url: _replaced, ...others } = settings as { tls?: object; public_url?: unknown }
  return { ...others, public_url: `https://${tls.name}`, tls: { ...found, acme: { ...acmeOf(found), ...tls.acme } } }
}

const acmeOf = (tls: { acme?: object } = {}) => tls.acme

function asJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new SetupFailure(`${path} is not JSON.`)
  }
}
