import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { EdgeConfig } from '@offshoot/contract/process-config'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
// acme-client's dependencies need this import first.
// oxlint-disable-next-line import/no-unassigned-import
import 'reflect-metadata'
import { Client, crypto } from 'acme-client'
import { DnsHook } from './dns-hook.ts'
import type { Pem } from './local-authority.ts'

export type AcmeSettings = NonNullable<EdgeConfig['acme']>

/**
 * Orders a certificate for a domain and its wildcard (RFC 8555) by DNS challenge, the only one allowed for wildcards.
 * @param folder of `account.key`, created if missing
 * @throws if the authority refuses, or the hook fails
 */
export async function orderCertificate(settings: AcmeSettings, suffix: string, folder: string): Promise<Pem> {
  const hook = new DnsHook(settings.hook)
  const client = new Client({ directoryUrl: settings.directory_url, accountKey: await accountKey(folder) })
  const [key, csr] = await crypto.createCsr(
    { commonName: suffix, altNames: [suffix, `*.${suffix}`] },
    await crypto.createPrivateEcdsaKey(),
  )
  const cert = await client.auto({
    csr,
    ...(settings.email !== undefined && { email: settings.email }),
    termsOfServiceAgreed: true,
    challengePriority: ['dns-01'],
    // The hook ends when the record is visible. Our own resolver may still have an old answer.
    skipChallengeVerification: true,
    challengeCreateFn: async ({ identifier }, _challenge, value) => hook.add(recordOf(identifier.value), value),
    challengeRemoveFn: async ({ identifier }, _challenge, value) => hook.remove(recordOf(identifier.value), value),
  })
  return { cert, key: key.toString() }
}

const recordOf = (domain: string) => `_acme-challenge.${domain}`

async function accountKey(folder: string): Promise<Buffer> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, 'account.key')
  const kept = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (kept !== null) return kept
  const made = await crypto.createPrivateEcdsaKey()
  await writeFileDurably(path, made)
  return made
}
