import { mkdir, readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Sandbox } from '@offshoot/contract/sandbox'
import type { SshGateway } from '@offshoot/contract/ssh'
import type { Offshoot } from '@offshoot/sdk'
import type { Cli } from '../frame/cli.ts'
import type { Action } from '../frame/command.ts'
import { EXIT, Failure, UsageError } from '../frame/failure.ts'
import { replacePrivateFile } from '../frame/private-file.ts'
import { resolve } from '../frame/resolve.ts'
import { isFresh, renew, type SshFiles, sshFiles } from './credentials.ts'

/** What may stand in a configuration unquoted. Other members of the workspace choose the names. */
const PLAIN_NAME = /^[A-Za-z0-9][\w.-]{0,60}$/
/** Minutes after which `ssh` has the certificate renewed: five before it ends. */
const RENEW_MINUTES = 55

export const run: Action<{ readonly write?: boolean; readonly renew?: string }> = async (
  cli,
  { operands, options },
) => {
  const files = sshFiles(cli)
  if (options.renew !== undefined) {
    if (options.write === true || operands.length > 0) throw new UsageError('--renew stands alone')
    if (options.renew === 'always' || !(await isFresh(files))) await renew(cli, files)
    return
  }
  const api = await cli.api()
  const gateway = await renew(cli, files)
  const content = configuration(cli, files, gateway, await sandboxesOf(api, operands))
  if (options.write !== true) {
    cli.out.raw(content)
    return
  }
  await replacePrivateFile(files.config, content)
  const user = join(cli.env['HOME'] || homedir(), '.ssh')
  await include(user, files.config)
  cli.out.note(`Wrote ${files.config}, which ${join(user, 'config')} includes. Enter a sandbox: ssh NAME.offshoot`)
}

async function sandboxesOf(api: Offshoot, named: readonly string[]): Promise<Sandbox[]> {
  const all = await api.list('GET /v1/sandboxes', { query: { limit: 1000 } }).all()
  if (named.length === 0) return all
  const ids = await Promise.all(named.map(async (text) => resolve(api, 'sandbox', text)))
  return ids.map((id) => {
    const found = all.find((each) => each.id === id)
    if (found === undefined) throw new Failure(`there is no sandbox "${id}"`, { exitCode: EXIT.notFound })
    return found
  })
}

/**
 * `NAME.offshoot` and the first part of an id are the sandboxes of now; `ssh ID@offshoot` reaches every one. Whenever `ssh`
 * reads this, it has a certificate renewed that ends soon.
 */
function configuration(cli: Cli, files: SshFiles, gateway: SshGateway, sandboxes: readonly Sandbox[]): string {
  const hosts = sandboxes.map(({ id, metadata: { name = '' } }) => {
    const names = [name, id.slice(0, 8)].filter((each) => PLAIN_NAME.test(each))
    return `Host ${names.map((each) => `${each}.offshoot`).join(' ')}\n  User ${id}\n`
  })
  return `${hosts.join('')}Match originalhost offshoot,*.offshoot exec "${renewal(cli, files)}"
  HostName ${gateway.host}
  Port ${gateway.port}
  IdentityFile ${quoted(files.key)}
  CertificateFile ${quoted(files.certificate)}
  IdentitiesOnly yes
  UserKnownHostsFile ${quoted(files.knownHosts)}
`
}

/** Looks at the age of the certificate first, because that takes a millisecond. Never fails: `ssh` explains a refusal. */
function renewal(cli: Cli, { certificate }: SshFiles): string {
  const program = [process.execPath, ...process.execArgv, process.argv[1] ?? ''].map(shellQuoted).join(' ')
  const own = `OFFSHOOT_CONFIG=${shellQuoted(cli.configPath)} OFFSHOOT_BASE_URL=${shellQuoted(cli.baseUrl)}`
  const renewing = `${own} ${program} ssh-config --renew expired`
  return `find ${shellQuoted(certificate)} -mmin -${RENEW_MINUTES} 2>/dev/null | grep -q . || ${renewing} >&2; true`
}

/** Quoted for a shell, within the double quotes of OpenSSH, which replaces `%`. */
function shellQuoted(text: string): string {
  return `'${checked(text)
    .replaceAll("'", String.raw`'\\''`)
    .replaceAll('%', '%%')}'`
}

function quoted(path: string): string {
  return `"${checked(path).replaceAll('%', '%%')}"`
}

function checked(text: string): string {
  // oxlint-disable-next-line no-control-regex
  if (/["\u0000-\u001F\\]/.test(text))
    throw new Failure(`OpenSSH cannot use the path ${JSON.stringify(text)}`, { next: 'set OFFSHOOT_CONFIG to another' })
  return text
}

/** At the beginning, because OpenSSH takes the first value that it finds, and `Include` must not stand below a `Host`. */
async function include(folder: string, path: string): Promise<void> {
  const line = `Include ${quoted(path)}`
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const config = join(folder, 'config')
  const content = await readFile(config, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return ''
  })
  if (!content.split('\n').includes(line)) await replacePrivateFile(config, `${line}\n${content}`)
}
