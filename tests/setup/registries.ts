/** The package registries of this machine (npm and apt), and the settings with which guests reach them. */
import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { connect, type DetailedPeerCertificate } from 'node:tls'
import { promisify } from 'node:util'

const run = promisify(execFile)
const SOURCES = join(resolve(import.meta.dirname, '../..'), 'templates/base/files/etc/apt/sources.list')
const ANSWER_MS = 10_000

export interface Registries {
  /** Network exceptions for guests. Whether they are needed depends on the machine. */
  readonly exceptions: readonly string[]
  /** Environment variables for a guest's npm. */
  readonly npm: Readonly<Record<string, string>>
}

/** @throws why this machine cannot reach its registries */
export async function findRegistries(): Promise<Registries> {
  const { stdout } = await run('npm', ['config', 'get', 'registry'])
  const registry = new URL(stdout.trim())
  const sources = (await readFile(SOURCES, 'utf8')).matchAll(/^deb (?:\[[^\]]*\] )?(\S+)/gm)
  const urls = [registry, ...[...sources].map(([, url = '']) => new URL(url))]
  const allowed = urls.map(async ({ protocol, hostname, port }) => {
    const { address } = await lookup(hostname, { family: 4 })
    return `${address}/32:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`
  })
  return {
    exceptions: [...new Set(await Promise.all(allowed))],
    npm: {
      npm_config_registry: registry.href,
      // Some registries have a certificate of a private authority.
      ...(registry.protocol === 'https:' && { npm_config_ca: await authorityOf(registry) }),
    },
  }
}

/** The root certificate that signed the server's certificate, as PEM. */
async function authorityOf({ hostname, port }: URL): Promise<string> {
  const { promise, resolve: found, reject } = Promise.withResolvers<DetailedPeerCertificate>()
  const socket = connect({ host: hostname, port: port === '' ? 443 : Number(port), servername: hostname })
  socket.once('secureConnect', () => found(socket.getPeerCertificate(true)))
  socket.once('error', reject)
  socket.setTimeout(ANSWER_MS, () => socket.destroy(new Error(`no answer of ${hostname}`)))
  try {
    let certificate = await promise
    // The last certificate of a chain is signed by itself.
    while (certificate.issuerCertificate !== undefined && certificate.issuerCertificate !== certificate)
      certificate = certificate.issuerCertificate
    return new X509Certificate(certificate.raw).toString()
  } finally {
    socket.destroy()
  }
}
