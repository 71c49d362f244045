import { createSecureContext, type SecureContext } from 'node:tls'
import { parseSandboxId } from '@offshoot/contract/ids'
import type { EdgeConfig } from '@offshoot/contract/process-config'
import type { Certificates } from './certificates.ts'
import { LocalAuthority } from './local-authority.ts'

/** Certificates that are kept; of more the one asked for longest ago is made anew. */
const MAX_KEPT = 1_000

/**
 * What the port of databases shows: the operator's own certificate where one is configured, which is to hold for `*.db.<suffix>`; else
 * the local authority's. A database that is asked for by its name has one of its own then, with a key pair of its own. Who asks for no name
 * (there is none without a suffix) sees one for the address.
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
