import { createSecureContext, type SecureContext } from 'node:tls'
import { parseSandboxId } from '@offshoot/contract/ids'
import type { EdgeConfig } from '@offshoot/contract/process-config'
import type { Certificates } from './certificates.ts'
import { LocalAuthority } from './local-authority.ts'

/** Maximum certificates to keep. Beyond it the least recently used one is dropped and issued anew when needed. */
const MAX_KEPT = 1_000

/**
 * Certificates of the database port. The operator's own certificate if configured; it must cover `*.db.<suffix>`.
 * Otherwise the local authority issues one per database name, each with its own key pair. Clients without SNI (all
 * clients, if there is no suffix) get one for the address.
 */
export async function openDatabaseCertificates(
  { databases, certificate, data_dir: folder }: Pick<EdgeConfig, 'databases' | 'certificate' | 'data_dir'>,
  ours: Certificates,
): Promise<Certificates> {
  if (databases === undefined || certificate !== undefined) return ours
  const { listen, suffix } = databases
  const authority = await LocalAuthority.open(folder)
  const end = `.db.${suffix}`
  const kept = new Map<string, Promise<SecureContext>>()
  const unnamed = await authority.issue([listen.host])
  const ofUnnamed = createSecureContext(unnamed)
  const forName = async (asked: string) => {
    const name = asked.toLowerCase()
    if (suffix === null || !name.endsWith(end) || parseSandboxId(name.slice(0, -end.length)) === null) return ofUnnamed
    const context = kept.get(name) ?? authority.issue([name]).then(createSecureContext)
    kept.delete(name)
    kept.set(name, context)
    if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value as string)
    return context
  }
  return { default: unnamed, forName }
}
