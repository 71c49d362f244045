import type { HostLabels } from '@offshoot/contract/host-label'
import { statement } from '../platform/db/statement.ts'

export const insertHostToken = statement<{ expires_at: Date }, [hash: Buffer, seconds: number, forHost: string | null]>(
  'insert-host-token',
  `insert into host_tokens (hash, expires_at, for_host) values ($1, now() + make_interval(secs => $2), $3)
   returning expires_at`,
)

/**
 * Binds the token to the first key that uses it. No row: the token is unknown, has expired, or another key has used it.
 */
export const useHostToken = statement<
  { host_id: string; is_new: boolean; for_host: string | null },
  [hash: Buffer, publicKey: Buffer]
>(
  'use-host-token',
  `with token as (
     select hash, public_key is null as is_new from host_tokens
     where hash = $1 and expires_at > now() and (public_key is null or public_key = $2) for update
   )
   update host_tokens t set public_key = $2, host_id = coalesce(t.host_id, t.for_host, gen_random_uuid())
   from token where t.hash = token.hash
   returning t.host_id, token.is_new, t.for_host`,
  { notNull: ['host_id'] },
)

/** A token that has expired says nothing about a host any more. */
export const removeOldHostTokens = statement<never, []>(
  'remove-old-host-tokens',
  'delete from host_tokens where expires_at < now()',
)

export const insertJoinedHost = statement<
  never,
  [id: string, url: string, secret: Buffer, edgeSecret: Buffer, labels: string, zone: string | null]
>(
  'insert-joined-host',
  'insert into joined_hosts (id, url, secret, edge_secret, labels, zone) values ($1, $2, $3, $4, $5, $6)',
)

interface JoinedHostRow {
  readonly id: string
  readonly url: string
  /** Both are sealed. */
  readonly secret: Buffer
  readonly edge_secret: Buffer
}

/** No row: the host has been removed. */
export const joinedHost = statement<JoinedHostRow, [id: string]>(
  'joined-host',
  'select id, url, secret, edge_secret from joined_hosts where id = $1',
)

/** Condition on a row of `joined_hosts`: no control process has heard the agent of the host yet. */
export const IS_JOINING = 'not exists (select from agents where agents.id = joined_hosts.id::text)'

/** Until the transaction ends, the host is not removed, and its agent's first answer is not stored. */
export const lockJoinedHost = statement<{ id: string }, [id: string]>(
  'lock-joined-host',
  'select id from joined_hosts where id::text = $1 for update',
)

/**
 * Sets the labels and the zone that a joining host gets with its first answer; each only if its parameter says so. No
 * row: that changes nothing, or no such host is joining.
 */
export const describeJoiningHost = statement<
  { labels: HostLabels; zone: string | null },
  [id: string, labels: string | null, hasZone: boolean, zone: string | null]
>(
  'describe-joining-host',
  `update joined_hosts set labels = coalesce($2::jsonb, labels), zone = case when $3::boolean then $4::text else zone end
   where id::text = $1 and ${IS_JOINING} and (labels, zone) is distinct from
     (coalesce($2::jsonb, labels), case when $3::boolean then $4::text else zone end)
   returning labels, zone`,
)

export const joinedHosts = statement<JoinedHostRow, []>(
  'joined-hosts',
  'select id, url, secret, edge_secret from joined_hosts order by created_at, id',
)

/** How many objects of users a host has. */
export const objectsOfHost = statement<
  { sandboxes: number; volumes: number; snapshots: number; templates: number },
  [id: string]
>(
  'objects-of-host',
  `select (select count(*)::int from sandboxes where agent_id = $1 and status <> 'failed') as sandboxes,
     (select count(*)::int from volumes where agent_id = $1) as volumes,
     (select count(*)::int from snapshots where agent_id = $1) as snapshots,
     (select count(*)::int from templates where agent_id = $1) as templates`,
)

/** The host is trusted no more. No row: no such host has joined. */
export const removeJoinedHost = statement<{ url: string }, [id: string]>(
  'remove-joined-host',
  'delete from joined_hosts where id = $1 returning url',
)
