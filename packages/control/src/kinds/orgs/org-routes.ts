import type { FastifyInstance } from 'fastify'
import type { OrgsContext } from './identity/orgs-context.ts'
import { deleteOrg } from './delete-org.ts'
import { getOrg, getOrgs } from './get-orgs.ts'
import { deleteInvite, getInvites } from './invite-routes.ts'
import { deleteMember, getMembers, patchMember } from './member-routes.ts'
import { patchOrg } from './patch-org.ts'
import { postAccept } from './post-accept.ts'
import { postMembers } from './post-members.ts'
import { postOrgs } from './post-orgs.ts'

/** Everything under `/v1/orgs`. */
export function orgRoutes(app: FastifyInstance, control: OrgsContext): void {
  getOrgs(app, control)
  postOrgs(app, control)
  getOrg(app, control)
  patchOrg(app, control)
  deleteOrg(app, control)
  getMembers(app, control)
  postMembers(app, control)
  patchMember(app, control)
  deleteMember(app, control)
  getInvites(app, control)
  deleteInvite(app, control)
  postAccept(app, control)
}
