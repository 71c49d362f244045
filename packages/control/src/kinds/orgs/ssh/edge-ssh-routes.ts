import {
  EDGE_SSH_ADMISSIONS_PATH,
  EDGE_SSH_HOST_KEY_PATH,
  type EdgeSshAdmission,
  edgeSshHostKey,
  edgeSshRequest,
} from '@offshoot/contract/edge-ssh'
import { ApiError } from '@offshoot/contract/errors'
import { privateKeyFile } from '@offshoot/kit/ssh/ssh-private-key'
import type { FastifyInstance } from 'fastify'
import type { z } from 'zod'
import { admitEdge } from '../../../fleet/admit-edge.ts'
import { parseBody } from '../../../platform/http/body.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'
import { admitSsh } from './admit-ssh.ts'

/** `GET /internal/ssh/host-key` and `POST /internal/ssh/admissions`, for edges. Not part of the public API. */
export function edgeSshRoutes(app: FastifyInstance, control: OrgsContext): void {
  app.get(EDGE_SSH_HOST_KEY_PATH, async (request): Promise<z.infer<typeof edgeSshHostKey>> => {
    await admitEdge(control, request)
    if (control.config.ssh === undefined) throw new ApiError('notFound')
    return { private_key: privateKeyFile((await control.sshKeys.get()).host) }
  })
  app.post(EDGE_SSH_ADMISSIONS_PATH, async (request): Promise<EdgeSshAdmission> => {
    await admitEdge(control, request)
    const admission = await admitSsh(control, parseBody(request, edgeSshRequest), request.id)
    if (admission === null) throw new ApiError('notFound')
    return admission
  })
}
