import type { Invitation, Member } from '@offshoot/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { UserPlus } from 'lucide-react'
import { useState } from 'react'
import { useSession } from '../../session/session.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { useConfirm } from '../../ui/confirm.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { Choice, Field, INPUT_CLASSES, Input } from '../../ui/field.tsx'
import { Page, Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { useTell } from '../../ui/toasts.tsx'
import { leaveWorkspace } from '../settings/leave-workspace.ts'
import { invitationsQuery, membersQuery } from './member-queries.ts'

const ROLES: readonly Member['role'][] = ['owner', 'admin', 'member']

/** Who belongs to the workspace. */
export function MembersPage() {
  const session = useSession()
  const query = useQuery(membersQuery(session))
  const [isInviting, setInviting] = useState(false)
  const mayManage = session.can('members:manage')
  return (
    <Page
      title="Members"
      description={`Members of ${session.workspace.name}. Owners and admins manage members, keys and billing.`}
      actions={
        mayManage && (
          <Button look="primary" icon={<UserPlus size={16} aria-hidden />} onClick={() => setInviting(true)}>
            Invite
          </Button>
        )
      }
    >
      <QueryView query={query}>{(members) => <Members members={members} />}</QueryView>
      {mayManage && <Invitations />}
      {isInviting && <InviteDialog onClose={() => setInviting(false)} />}
    </Page>
  )
}

function Members({ members }: { readonly members: readonly Member[] }) {
  const { me, can } = useSession()
  const columns: readonly Column<Member>[] = [
    {
      title: 'Member',
      cell: ({ name, email, userId }) => (
        <span className="flex min-w-0 flex-col">
          <span className="plaintext font-medium">
            {name} {userId === me.user.id && <Badge tone="accent">you</Badge>}
          </span>
          <span className="plaintext text-xs text-muted">{email}</span>
        </span>
      ),
    },
    {
      title: 'Role',
      cell: (member) =>
        can('members:promote') && !isLastOwner(member, members) ? <RoleChoice member={member} /> : member.role,
    },
    { title: 'Joined', wide: true, cell: ({ joinedAt }) => <Time at={joinedAt} /> },
    {
      title: 'Actions',
      right: true,
      cell: (member) => <RemoveButton member={member} isLast={isLastOwner(member, members)} />,
    },
  ]
  return <Table label="Members" columns={columns} rows={members} idOf={({ userId }) => userId} />
}

/** A workspace always has an owner. */
function isLastOwner({ role }: Member, members: readonly Member[]): boolean {
  return role === 'owner' && members.filter((each) => each.role === 'owner').length === 1
}

function RoleChoice({ member: { userId, email, role } }: { readonly member: Member }) {
  const { api, me, workspace } = useSession()
  const queries = useQueryClient()
  const tell = useTell()
  const change = async (next: Member['role']) => {
    await api.workspaces.updateMember(workspace.id, userId, { role: next })
    await queries.invalidateQueries({ queryKey: ['member'] })
    // The own role decides which buttons exist.
    if (userId === me.user.id) await queries.invalidateQueries({ queryKey: ['me'] })
  }
  return (
    <select
      aria-label={`Role of ${email}`}
      className={`${INPUT_CLASSES} !h-7 !w-auto`}
      value={role}
      onChange={({ currentTarget }) =>
        void tell.whether(change(currentTarget.value as Member['role']), 'The role is changed')
      }
    >
      {ROLES.map((each) => (
        <option key={each}>{each}</option>
      ))}
    </select>
  )
}

function RemoveButton({ member, isLast }: { readonly member: Member; readonly isLast: boolean }) {
  const { userId, email, role } = member
  const session = useSession()
  const { api, me, workspace, can } = session
  const queries = useQueryClient()
  const confirm = useConfirm()
  const isOwn = userId === me.user.id
  if (isLast || (!isOwn && !can(role === 'owner' ? 'members:promote' : 'members:manage'))) return null
  const ask = () =>
    confirm(
      isOwn
        ? {
            title: `Leave ${workspace.name}?`,
            description: 'You lose access at once. Keys that you made stay with the workspace.',
            action: 'Leave',
            run: async () => {
              await api.workspaces.removeMember(workspace.id, userId)
              leaveWorkspace()
            },
          }
        : {
            title: `Remove ${email}?`,
            description: 'They lose access at once. Keys that they made stay with the workspace.',
            action: 'Remove',
            run: async () => {
              await api.workspaces.removeMember(workspace.id, userId)
              await queries.invalidateQueries({ queryKey: ['member'] })
            },
          },
    )
  return (
    <Button small look="danger" aria-label={isOwn ? 'Leave the workspace' : `Remove ${email}`} onClick={ask}>
      {isOwn ? 'Leave' : 'Remove'}
    </Button>
  )
}

function Invitations() {
  const session = useSession()
  const query = useQuery(invitationsQuery(session))
  const confirm = useConfirm()
  const queries = useQueryClient()
  const revoke = ({ id, email }: Invitation) =>
    confirm({
      title: 'Revoke this invitation?',
      description: `The link in the mail to ${email} stops working.`,
      action: 'Revoke',
      run: async () => {
        await session.api.workspaces.deleteInvitation(session.workspace.id, id)
        await queries.invalidateQueries({ queryKey: ['invitation'] })
      },
    })
  const columns: readonly Column<Invitation>[] = [
    { title: 'Address', cell: ({ email }) => <span className="plaintext">{email}</span> },
    { title: 'Role', cell: ({ role }) => role },
    { title: 'Sent', wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: 'Ends', wide: true, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
    {
      title: 'Actions',
      right: true,
      cell: (invitation) => (
        <Button
          small
          look="danger"
          aria-label={`Revoke the invitation of ${invitation.email}`}
          onClick={() => revoke(invitation)}
        >
          Revoke
        </Button>
      ),
    },
  ]
  return (
    <Section title="Open invitations">
      <QueryView query={query}>
        {(invitations) =>
          invitations.length === 0 ? (
            <p className="text-muted">None. An invitation is a mail with a link that works once, for seven days.</p>
          ) : (
            <Table label="Open invitations" columns={columns} rows={invitations} idOf={({ id }) => id} />
          )
        }
      </QueryView>
    </Section>
  )
}

function InviteDialog({ onClose }: { readonly onClose: () => void }) {
  const { api, workspace } = useSession()
  const queries = useQueryClient()
  const tell = useTell()
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Invitation['role']>('member')
  const invite = async () => {
    await api.workspaces.invite(workspace.id, { email: email.trim(), role })
    tell.done(`Invitation sent to ${email.trim()}`)
    await queries.invalidateQueries({ queryKey: ['invitation'] })
  }
  return (
    <FormDialog
      open
      title={`Invite to ${workspace.name}`}
      description="The service sends a mail with a link. The account must have the same address."
      submit="Invite"
      canSubmit={email.includes('@')}
      onSubmit={invite}
      onClose={onClose}
    >
      <Field label="Email">
        <Input type="email" value={email} onValueChange={setEmail} maxLength={254} autoFocus required />
      </Field>
      <Field label="Role">
        <Choice
          options={['member', 'admin']}
          value={role}
          onChoose={(chosen) => setRole(chosen as Invitation['role'])}
        />
      </Field>
    </FormDialog>
  )
}
