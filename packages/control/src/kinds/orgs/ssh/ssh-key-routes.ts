import { ApiError } from '@offshoot/contract/errors'
import { isUuid } from '@offshoot/contract/ids'
import { createSshKeyBody, MAX_SSH_KEYS, type SshKey, sshKey, sshKeyListQuery } from '@offshoot/contract/ssh'
import { fingerprintOf, parsePublicKey, parsePublicKeyLine, publicKeyLine } from '@offshoot/kit/ssh/ssh-public-key'
import { SshFormatError } from '@offshoot/kit/ssh/ssh-wire'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import { actorOf } from '../../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../../platform/audit/audit-statements.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { parseBody, parseWith } from '../../../platform/http/body.ts'
import { userOf } from '../../../platform/http/caller.ts'
import { createdBetween, equals, listPage, newestFirst } from '../../../platform/http/page-of.ts'
import { lockUser } from '../identity/membership-statements.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'
import { countSshKeys, deleteSshKey, insertSshKey, SSH_KEY_COLUMNS, type SshKeyRow } from './ssh-key-statements.ts'

const ORDER = newestFirst('ssh-keys', 'ssh_keys')
const MAX_NAME_CHARS = 100

/** `POST`, `GET` and `DELETE /v1/me/ssh-keys`: the keys with which the user enters sandboxes. */
export function sshKeyRoutes(app: FastifyInstance, control: OrgsContext): void {
  const { pool } = control.database
  app.post('/v1/me/ssh-keys', {
    config: {
      audit: 'own',
      credential: 'jwt',
      docs: {
        summary: 'Add an SSH key',
        tag: 'SSH',
        body: createSshKeyBody,
        status: 201,
        answer: sshKey,
        errors: ['invalidField', 'conflict', 'tooManySshKeys'],
      },
    },
    handler: async (request, reply) => {
      const { user, workspaceId } = userOf(request)
      const body = parseBody(request, createSshKeyBody)
      const { blob, comment } = readKey(body.public_key)
      const name = (body.name || comment.replaceAll('\0', '').toWellFormed()).slice(0, MAX_NAME_CHARS)
      const row = await transaction(pool, async (client) => {
        await lockUser(client, user.id)
        const [counted] = await countSshKeys(client, user.id)
        const active = counted?.count ?? 0
        if (active >= MAX_SSH_KEYS) throw new ApiError('tooManySshKeys', { max: MAX_SSH_KEYS, active })
        const [made] = await insertSshKey(client, user.id, name, blob, fingerprintOf(blob))
        if (made === undefined) throw new ApiError('conflict', { detail: 'you have added this key already' })
        await recordAuditEvent(client, actorOf(request), {
          workspaceId,
          action: 'ssh_key.created',
          target: made.fingerprint,
          details: { name },
        })
        return made
      })
      return reply.code(201).send(presentSshKey(row))
    },
  })

  app.get('/v1/me/ssh-keys', {
    config: {
      credential: 'jwt',
      docs: {
        summary: 'List your SSH keys, newest first',
        tag: 'SSH',
        query: sshKeyListQuery,
        status: 200,
        answer: z.array(sshKey),
        errors: ['invalidField'],
      },
    },
    handler: async (request, reply): Promise<SshKey[]> => {
      const query = parseWith(sshKeyListQuery, request.query)
      const { user } = userOf(request)
      const rows = await listPage<SshKeyRow>(control, request, reply, {
        order: ORDER,
        owner: user.id,
        select: `select ${SSH_KEY_COLUMNS} from ssh_keys`,
        where: [
          sql`user_id = ${user.id}`,
          ...equals('fingerprint', query.fingerprint),
          ...createdBetween('created_at', query),
        ],
        query,
      })
      return rows.map(presentSshKey)
    },
  })

  app.delete('/v1/me/ssh-keys/:key_id', {
    config: {
      audit: 'own',
      credential: 'jwt',
      docs: { summary: 'Remove an SSH key', tag: 'SSH', status: 204, errors: ['notFound'] },
    },
    handler: async (request, reply) => {
      const { user, workspaceId } = userOf(request)
      const { key_id: id } = request.params as { key_id: string }
      if (!isUuid(id)) throw new ApiError('notFound')
      await transaction(pool, async (client) => {
        const [removed] = await deleteSshKey(client, id, user.id)
        if (removed === undefined) throw new ApiError('notFound')
        const { fingerprint, name } = removed
        const event = { workspaceId, action: 'ssh_key.removed', target: fingerprint, details: { name } } as const
        await recordAuditEvent(client, actorOf(request), event)
      })
      return reply.code(204).send()
    },
  })
}

/** @throws ApiError 400 */
export function readKey(line: string) {
  try {
    return parsePublicKeyLine(line)
  } catch (error) {
    if (!(error instanceof SshFormatError)) throw error
    throw new ApiError('invalidField', { error: 'public_key must be a public key of OpenSSH', detail: error.message })
  }
}

function presentSshKey({ id, name, blob, fingerprint, created_at, last_used_at }: SshKeyRow): SshKey {
  const key = parsePublicKey(blob)
  return {
    id,
    name,
    type: key.type,
    fingerprint,
    public_key: publicKeyLine(key),
    created_at: created_at.toISOString(),
    last_used_at: last_used_at?.toISOString() ?? null,
  }
}
