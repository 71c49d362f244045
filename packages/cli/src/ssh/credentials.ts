import { execFile } from 'node:child_process'
import { mkdir, readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { SshGateway } from '@offshoot/contract/ssh'
import type { Cli } from '../frame/cli.ts'
import { Failure } from '../frame/failure.ts'
import { replacePrivateFile } from '../frame/private-file.ts'

/** The certificate lives an hour. One with less than this left is renewed. */
const SPARE_MS = 5 * 60_000
const LIFE_MS = 60 * 60_000

/** OpenSSH's files, beside the configuration of the program. */
export interface SshFiles {
  readonly folder: string
  readonly key: string
  readonly certificate: string
  readonly knownHosts: string
  readonly config: string
}

export function sshFiles({ configPath }: Cli): SshFiles {
  const folder = join(dirname(configPath), 'ssh')
  const key = join(folder, 'id_ed25519')
  return {
    folder,
    key,
    certificate: `${key}-cert.pub`,
    knownHosts: join(folder, 'known_hosts'),
    config: join(folder, 'config'),
  }
}

/** Whether the certificate is good for some more minutes. */
export async function isFresh({ certificate }: SshFiles): Promise<boolean> {
  const found = await stat(certificate).catch(() => null)
  return found !== null && Date.now() - found.mtimeMs < LIFE_MS - SPARE_MS
}

/** Makes the key if there is none, and has a certificate signed for it. @returns where the gateway is */
export async function renew(cli: Cli, files: SshFiles): Promise<SshGateway> {
  await mkdir(files.folder, { recursive: true, mode: 0o700 })
  const publicKey = await readFile(`${files.key}.pub`, 'utf8').catch(async () => makeKey(files.key))
  const api = await cli.api()
  const body = { public_key: publicKey.trim() }
  const { certificate, gateway } = await api.request('POST /v1/ssh-certificates', { body, signal: cli.signal })
  if (!/^[\x21-\x7e]+ [\x20-\x7e]+$/.test(gateway.known_hosts) || !/^[\w.:-]+$/.test(gateway.host))
    throw new Failure('the server describes its SSH gateway in a way that OpenSSH would not understand')
  await replacePrivateFile(files.knownHosts, `${gateway.known_hosts}\n`)
  await replacePrivateFile(files.certificate, `${certificate.trim()}\n`)
  return gateway
}

async function makeKey(path: string): Promise<string> {
  try {
    await promisify(execFile)('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'offshoot', '-f', path])
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw new Failure(isMissing ? 'there is no ssh-keygen' : `${path} cannot be made`, {
      next: isMissing ? 'install the client of OpenSSH' : 'correct the permissions of its folder',
      cause: error,
    })
  }
  return readFile(`${path}.pub`, 'utf8')
}
