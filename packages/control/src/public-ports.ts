import { ownCertificateName, type TlsSettings } from '@offshoot/contract/control-settings'
import type { FastifyInstance } from 'fastify'
import type { Control } from './control.ts'
import { ChallengeListener } from './kinds/apps/certificates/challenge-listener.ts'
import { ownCertificate } from './kinds/apps/certificates/own-certificate.ts'
import { wantOwnCertificate } from './kinds/apps/certificates/own-certificate-statements.ts'
import { addGauge } from './platform/http/metrics.ts'
import { type CertificateSource, certificateFiles, TlsListener } from './platform/http/tls-listener.ts'
import { HTTP_OPTIONS } from './server.ts'

/** The ports of control that other machines reach. */
export interface PublicPorts {
  readonly withTls: TlsListener
  stop(): Promise<void>
}

/** Serves the API with TLS. If control orders the certificate, it also answers the ACME authority. */
export async function startPublicPorts(
  control: Control,
  server: FastifyInstance,
  settings: TlsSettings,
): Promise<PublicPorts> {
  const { database, config, metrics } = control
  const name = ownCertificateName(config)
  if (name !== null) await wantOwnCertificate(database.pool, name)
  const challenges = await challengeListener(control, settings)
  const withTls = await TlsListener.start(server, settings, sourceOf(control, settings), HTTP_OPTIONS)
  addGauge(
    metrics.registry,
    'offshoot_tls_certificate_expires_at_seconds',
    'Unix time at which the certificate of the API expires; 0 before the first one',
    () => withTls.expiresAtSeconds,
  )
  const stop = async () => {
    challenges?.stop()
    await withTls.stop()
  }
  return { withTls, stop }
}

async function challengeListener(
  { config, database: { pool }, log }: Control,
  { host, acme }: TlsSettings,
): Promise<ChallengeListener | null> {
  const name = ownCertificateName(config)
  const port = acme?.http_port ?? null
  if (name === null || port === null) return null
  return ChallengeListener.start({ host, port, name, publicUrl: config.public_url, pool, log })
}

function sourceOf(control: Control, { cert, key }: TlsSettings): CertificateSource {
  const name = ownCertificateName(control.config)
  if (name !== null) return ownCertificate(control, name)
  if (cert === undefined || key === undefined) throw new Error('tls has no certificate')
  return certificateFiles({ cert, key })
}
