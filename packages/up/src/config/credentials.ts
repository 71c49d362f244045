import { readFile } from 'node:fs/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import type { PreviewAddress } from '@offshoot/contract/preview-address'
import { z } from 'zod'
import type { E2bDomain, SshAddress } from '../base/addresses.ts'
import { HOST } from './configuration.ts'
import type { DataLayout } from '../base/data-layout.ts'
import { repositoryRoot } from '../base/repository.ts'
import { runCommand } from '../base/run-command.ts'

const BOOTSTRAP_WITHIN_MS = 60_000

/**
 * Output of control's bootstrap. Secrets are present only if it has just created them, because control stores hashes.
 */
const bootstrapped = z.object({
  api_key: z.string().nullable(),
  jwt: z.string(),
  email: z.string(),
  password: z.string().nullable(),
})
type Bootstrapped = z.infer<typeof bootstrapped>

/** `DIR/credentials.json`, mode 0600: the first user's access. Each start writes a new `jwt`. */
const account = z.object({
  base_url: z.string(),
  api_key: z.string(),
  jwt: z.string(),
  email: z.string(),
  password: z.string(),
})
type Account = z.infer<typeof account>

export interface Credentials extends Account {
  /** Address of the edge. Visitors use the hosts `<port>-<sandbox id>.<preview_suffix>` there. */
  readonly edge_url: string
  readonly preview_suffix: string
  /** Address of the SSH gateway. */
  readonly ssh_host: string
  readonly ssh_port: number
  /** The operator's key for `/v1/admin`. */
  readonly operator_key: string
  /** The API key in the form that E2B's clients take. */
  readonly e2b_api_key: string
  /** Address of the E2B gateway, for the API and for the inside of sandboxes. */
  readonly e2b_api_url: string
  readonly e2b_sandbox_url: string
  /** Ports of sandboxes are `<port>-<id>.<e2b_domain>`. */
  readonly e2b_domain: string
}

/** Addresses of the services, for clients. */
export interface Addresses {
  /** Base address of the API. */
  readonly control: string
  readonly preview: PreviewAddress
  readonly ssh: SshAddress
  readonly e2b: { readonly port: number; readonly domain: E2bDomain }
}

/** Migrates the schema, creates the first workspace and its key if missing, and writes the credentials file. */
export async function bootstrap(
  layout: DataLayout,
  { control, preview, ssh, e2b }: Addresses,
  operatorKey: string,
  cancelled: AbortSignal,
): Promise<Credentials> {
  const deadline = Deadline.after(BOOTSTRAP_WITHIN_MS, 'preparing the database', cancelled)
  const kept = await readCredentials(layout.credentials)
  const first = await runBootstrap(layout, [], deadline)
  const written =
    joinCredentials(control, first, kept) ??
    joinCredentials(control, await runBootstrap(layout, ['--new-key'], deadline), null)
  if (written === null) throw new Error('control made no new key when asked for one')
  const complete = {
    ...written,
    edge_url: `${preview.scheme}://${HOST}:${preview.port}`,
    preview_suffix: preview.suffix,
    ssh_host: ssh.host,
    ssh_port: ssh.port,
    operator_key: operatorKey,
    e2b_api_key: `e2b_${Buffer.from(written.api_key).toString('hex')}`,
    e2b_api_url: `http://${HOST}:${e2b.port}`,
    e2b_sandbox_url: `http://${HOST}:${e2b.port}`,
    e2b_domain: e2b.domain.port === 443 ? e2b.domain.suffix : `${e2b.domain.suffix}:${e2b.domain.port}`,
  }
  await writeFileDurably(layout.credentials, `${JSON.stringify(complete, null, 2)}\n`)
  return complete
}

/** `null` if a secret is neither new nor in the old file: the credentials file was lost. */
export function joinCredentials(baseUrl: string, made: Bootstrapped, kept: Account | null): Account | null {
  const isSameUser = kept?.email === made.email
  const api_key = made.api_key ?? (isSameUser ? kept.api_key : null)
  const password = made.password ?? (isSameUser ? kept.password : null)
  if (api_key === null || password === null) return null
  return { base_url: baseUrl, api_key, jwt: made.jwt, email: made.email, password }
}

async function readCredentials(path: string): Promise<Account | null> {
  try {
    return account.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch {
    return null
  }
}

async function runBootstrap(layout: DataLayout, flags: readonly string[], deadline: Deadline): Promise<Bootstrapped> {
  const entry = `${repositoryRoot}/packages/control/src/bootstrap.ts`
  const output = await runCommand(process.execPath, [entry, layout.controlConfig, ...flags], { deadline })
  const lastLine = output.trimEnd().split('\n').at(-1) ?? ''
  return bootstrapped.parse(JSON.parse(lastLine))
}
