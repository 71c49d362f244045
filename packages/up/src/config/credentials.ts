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
  sign_in_token: z.string(),
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

/** What the start tells its user. */
export interface Access {
  readonly credentials: Credentials
  /** Address of the console that signs in once. No file contains it. */
  readonly signInLink: string
}

/** Addresses of the services, for clients. */
export interface Addresses {
  /** Base address of the API. */
  readonly control: string
  /** Address of the console. */
  readonly console: string
  readonly preview: PreviewAddress
  readonly ssh: SshAddress
  readonly e2b: { readonly port: number; readonly domain: E2bDomain }
}

/** Migrates the schema, creates the first workspace and its key if missing, and writes the credentials file. */
export async function bootstrap(
  layout: DataLayout,
  { control, console: pages, preview, ssh, e2b }: Addresses,
  operatorKey: string,
  cancelled: AbortSignal,
): Promise<Access> {
  const deadline = Deadline.after(BOOTSTRAP_WITHIN_MS, 'preparing the database', cancelled)
  const kept = await readCredentials(layout.credentials)
  let made = await runBootstrap(layout, [], deadline)
  let written = joinCredentials(control, made, kept)
  if (written === null) {
    made = await runBootstrap(layout, ['--new-key'], deadline)
    written = joinCredentials(control, made, null)
  }
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
  return { credentials: complete, signInLink: linkOf(pages, made.sign_in_token) }
}

/** Makes a new link while the service runs. The earlier one ends. */
export async function makeSignInLink(layout: DataLayout, cancelled: AbortSignal): Promise<string> {
  const deadline = Deadline.after(BOOTSTRAP_WITHIN_MS, 'making a link', cancelled)
  const { public_url: pages } = z
    .object({ public_url: z.string() })
    .parse(JSON.parse(await readFile(layout.controlConfig, 'utf8')))
  const { sign_in_token: token } = z
    .object({ sign_in_token: z.string() })
    .parse(await runControl(layout, ['--sign-in-link'], deadline))
  return linkOf(pages, token)
}

/** The token stands in the fragment, which browsers send to no server. */
function linkOf(pages: string, token: string): string {
  return `${pages}/sign-in#${token}`
}

/** `null` if a secret is neither new nor in the old file: the credentials file was lost. */
export function joinCredentials(
  baseUrl: string,
  made: Omit<Bootstrapped, 'sign_in_token'>,
  kept: Account | null,
): Account | null {
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
  return bootstrapped.parse(await runControl(layout, flags, deadline))
}

/** @returns the JSON that control's bootstrap prints */
async function runControl(layout: DataLayout, flags: readonly string[], deadline: Deadline): Promise<unknown> {
  const entry = `${repositoryRoot}/packages/control/src/bootstrap.ts`
  const output = await runCommand(process.execPath, [entry, layout.controlConfig, ...flags], { deadline })
  const lastLine = output.trimEnd().split('\n').at(-1) ?? ''
  return JSON.parse(lastLine)
}
