import type {
  ChangeMemberBody,
  ChangeOrgBody,
  CreateOrgBody,
  Invitation,
  InviteBody,
  Member,
  Org as WorkspaceInfo,
  WorkspaceSummary,
} from '../generated/models.ts'
import type { List } from '../http/list.ts'
import type { QueryOptions } from '../http/routes.ts'
import { Scope } from '../http/scope.ts'
import type { CallOptions, Transport } from '../http/transport.ts'

export type { WorkspaceInfo }

/** The workspaces of a user, their members and invitations. Only a JWT may use them. */
export class Workspaces {
  readonly #scope: Scope

  /** @internal */
  constructor(transport: Transport) {
    this.#scope = new Scope(transport)
  }

  /** Makes a workspace of which the user is the owner. @throws ConflictError if the slug is taken */
  async create(options: CreateOrgBody & CallOptions): Promise<WorkspaceSummary> {
    return this.#scope.post('POST /v1/orgs', options)
  }

  /** @throws NotFoundError */
  async get(id: string, options: CallOptions = {}): Promise<WorkspaceInfo> {
    return this.#scope.with({ id }).get('GET /v1/orgs/{id}', options)
  }

  /** In the order of joining. */
  list(options: QueryOptions<'GET /v1/orgs'> = {}): List<WorkspaceSummary> {
    return this.#scope.list('GET /v1/orgs', options)
  }

  /** Changes the name or the slug. @throws ConflictError if the slug is taken */
  async update(id: string, options: ChangeOrgBody & CallOptions): Promise<WorkspaceSummary> {
    return this.#scope.with({ id }).post('PATCH /v1/orgs/{id}', options)
  }

  /** Deletes a workspace with everything in it. It is no error if there is none. */
  async delete(id: string, options: CallOptions = {}): Promise<void> {
    await this.#scope.with({ id }).remove('DELETE /v1/orgs/{id}', options)
  }

  /** Makes it the user's current workspace, in which a JWT acts without `org`. @throws NotFoundError */
  async select(id: string, options: CallOptions = {}): Promise<WorkspaceSummary> {
    const body = { org_id: id }
    return (await this.#scope.call('POST /v1/me/current-org', { ...options, body, isIdempotent: true })).org
  }

  /** In the order of joining. */
  members(id: string, options: QueryOptions<'GET /v1/orgs/{id}/members'> = {}): List<Member> {
    return this.#scope.with({ id }).list('GET /v1/orgs/{id}/members', options)
  }

  /** @throws ConflictError for the last owner */
  async updateMember(id: string, userId: string, options: ChangeMemberBody & CallOptions): Promise<Member> {
    return this.#scope.with({ id, user_id: userId }).post('PATCH /v1/orgs/{id}/members/{user_id}', options)
  }

  /** Removes a member, or leaves. It is no error if there is none. @throws ConflictError for the last owner */
  async removeMember(id: string, userId: string, options: CallOptions = {}): Promise<void> {
    await this.#scope.with({ id, user_id: userId }).remove('DELETE /v1/orgs/{id}/members/{user_id}', options)
  }

  /** Sends an invitation by e-mail. @throws ConflictError for a member */
  async invite(id: string, options: InviteBody & CallOptions): Promise<Invitation> {
    return this.#scope.with({ id }).post('POST /v1/orgs/{id}/members', options)
  }

  /** The open invitations, newest first. */
  invitations(id: string, options: QueryOptions<'GET /v1/orgs/{id}/invites'> = {}): List<Invitation> {
    return this.#scope.with({ id }).list('GET /v1/orgs/{id}/invites', options)
  }

  /** It is no error if there is none. */
  async deleteInvitation(id: string, invitationId: string, options: CallOptions = {}): Promise<void> {
    await this.#scope.with({ id, invite_id: invitationId }).remove('DELETE /v1/orgs/{id}/invites/{invite_id}', options)
  }

  /** Joins with the token of an invitation's link. @throws NotFoundError, AuthenticationError for another address */
  async acceptInvitation(token: string, options: CallOptions = {}): Promise<WorkspaceSummary> {
    return (await this.#scope.with({ token }).call('POST /v1/orgs/invites/{token}/accept', options)).org
  }
}
