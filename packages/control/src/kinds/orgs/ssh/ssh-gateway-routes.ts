import { randomBytes } from 'node:crypto'
import { ApiError } from '@offshoot/contract/errors'
import {
  createSshCertificateBody,
  SSH_CERTIFICATE_SECONDS,
  sshCertificate,
  type SshGateway,
  sshGateway,
} from '@offshoot/contract/ssh'
import { signCertificate } from '@offshoot/kit/ssh/ssh-certificate'
import { fingerprintOf, publicKeyLine, type SshPublicKey } from '@offshoot/kit/ssh/ssh-public-key'
import type { FastifyInstance } from 'fastify'
import { actorOf } from '../../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../../platform/audit/audit-statements.ts'
import { parseBody } from '../../../platform/http/body.ts'
import { callerOf } from '../../../platform/http/caller.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'
import { CLAIMS_EXTENSION, claimsOf } from './certificate-claims.ts'
import { readKey } from './ssh-key-routes.ts'

/** Seconds by which the clocks of control processes may differ. */
const CLOCK_TOLERANCE_SECONDS = 60
const DEFAULT_SSH_PORT = 22
/** What OpenSSH's own server would allow with the certificate. */
const EXTENSIONS = ['permit-port-forwarding', 'permit-pty', 'permit-user-rc']

/** `GET /v1/ssh` and `POST /v1/ssh-certificates`. */
export function sshGatewayRoutes(app: FastifyInstance, control: OrgsContext): void {
  app.get('/v1/ssh', {
    config: {
      credential: 'key-or-jwt',
      scope: 'sandboxes:read',
      docs: {
        summary: 'Where the SSH gateway is, and its host key',
        tag: 'SSH',
        status: 200,
        answer: sshGateway,
        errors: ['notFound'],
      },
    },
    handler: () => gatewayOf(control),
  })

  app.post('/v1/ssh-certificates', {
    config: {
      audit: 'own',
      credential: 'key-or-jwt',
      scope: 'sandboxes:write',
      docs: {
        summary: 'Sign a certificate of one hour for an SSH key',
        tag: 'SSH',
        body: createSshCertificateBody,
        status: 201,
        answer: sshCertificate,
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: async (request, reply) => {
      const gateway = await gatewayOf(control)
      const key = readKey(parseBody(request, createSshCertificateBody).public_key)
      const caller = callerOf(request)
      if (caller.method === 'sandbox') throw new ApiError('scopeMissing', { detail: 'takes a key of the workspace' })
      const claims = claimsOf(caller)
      const issuedAt = Math.floor(Date.now() / 1000)
      const { authority } = await control.sshKeys.get()
      const { line } = signCertificate(authority, {
        key,
        serial: randomBytes(8).readBigUInt64BE(),
        keyId: claims.method === 'key' ? `offshoot key ${claims.prefix}` : `offshoot user ${claims.user_id}`,
        principals: [],
        validAfter: issuedAt - CLOCK_TOLERANCE_SECONDS,
        validBefore: issuedAt + SSH_CERTIFICATE_SECONDS,
        criticalOptions: new Map(),
        extensions: new Map([
          ...EXTENSIONS.map((name) => [name, Buffer.alloc(0)] as const),
          [CLAIMS_EXTENSION, Buffer.from(JSON.stringify(claims))],
        ]),
      })
      await recordAuditEvent(control.database.pool, actorOf(request), {
        workspaceId: caller.workspaceId,
        action: 'ssh_certificate.issued',
        target: fingerprintOf(key.blob),
      })
      const expiresAt = new Date((issuedAt + SSH_CERTIFICATE_SECONDS) * 1000).toISOString()
      return reply.code(201).send({ certificate: line, expires_at: expiresAt, gateway })
    },
  })
}

/** @throws ApiError 404 if the service has no SSH gateway */
async function gatewayOf({ config, sshKeys }: OrgsContext): Promise<SshGateway> {
  if (config.ssh === undefined) throw new ApiError('notFound')
  const { host, port } = config.ssh
  const key: SshPublicKey = (await sshKeys.get()).host.publicKey
  const line = publicKeyLine(key)
  return {
    host,
    port,
    host_key: line,
    host_key_fingerprint: fingerprintOf(key.blob),
    known_hosts: `${port === DEFAULT_SSH_PORT ? host : `[${host}]:${port}`} ${line}`,
  }
}
