import { ApiError } from '@offshoot/contract/errors'
import { snapshot } from '@offshoot/contract/snapshot'
import type { FastifyInstance } from 'fastify'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { callerOf } from '../../../platform/http/caller.ts'
import { findSnapshot } from './find-snapshot.ts'
import { presentSnapshot } from './snapshot-row.ts'

export function getSnapshot(app: FastifyInstance, control: SandboxesContext): void {
  app.get('/v1/snapshots/:id', {
    config: {
      credential: 'key-or-jwt',
      docs: { summary: 'Read one snapshot', tag: 'Snapshots', status: 200, answer: snapshot, errors: ['notFound'] },
    },
    handler: async (request) => {
      const { id } = request.params as { id: string }
      const row = await findSnapshot(control.database, callerOf(request), id)
      if (row === undefined) throw new ApiError('notFound')
      return presentSnapshot(row)
    },
  })
}
