import type { OperatorRole } from '@offshoot/contract/operator'
import { statement } from '../../../platform/db/statement.ts'
import { type ListOrder, newestFirst } from '../../../platform/http/page-of.ts'

/** The prefix of the key in the configuration. */
export const BOOTSTRAP = 'bootstrap'
const LIVE = 'k.revoked_at is null and (k.expires_at is null or k.expires_at > now())'

export interface LiveOperatorKeyRow {
  readonly hash: Buffer
  readonly id: string
  readonly role: OperatorRole
  readonly is_noted: boolean
}

/** A key by its prefix, unless it has expired or was revoked. `is_noted`: its use was noted within the last minute. */
export const liveOperatorKey = statement<LiveOperatorKeyRow, [prefix: string]>(
  'live-operator-key',
  `select k.hash, o.id, o.role, coalesce(k.last_used_at > now() - interval '1 minute', false) as is_noted
   from operator_keys k join operators o on o.id = k.operator_id and o.removed_at is null
   where k.prefix = $1 and ${LIVE}`,
)

export const noteOperatorKeyUse = statement<never, [prefix: string]>(
  'note-operator-key-use',
  'update operator_keys set last_used_at = now() where prefix = $1',
)

export const insertBootstrapOperator = statement<never, []>(
  'insert-bootstrap-operator',
  `insert into operators (name, role, is_bootstrap) values ('${BOOTSTRAP}', 'owner', true) on conflict do nothing`,
)

/** A revoked key stays revoked until the configuration has another one. Returns a row if the key is new. */
export const setBootstrapKey = statement<{ operator_id: string }, [hash: Buffer]>(
  'set-bootstrap-key',
  `insert into operator_keys as k (prefix, operator_id, hash, name)
   select '${BOOTSTRAP}', id, $1, '${BOOTSTRAP}' from operators where is_bootstrap
   on conflict (prefix) do update set hash = excluded.hash, created_at = excluded.created_at, last_used_at = null,
     revoked_at = null
   where k.hash <> excluded.hash returning operator_id`,
)

export const restoreOperator = statement<never, [id: string]>(
  'restore-operator',
  `update operators set role = 'owner', removed_at = null where id = $1`,
)

export interface OperatorRow {
  readonly id: string
  readonly name: string
  readonly role: OperatorRole
  readonly created_at: Date
}

const COLUMNS = 'id, name, role, created_at'

/** Selects {@link OperatorRow}s, without conditions. */
export const SELECT_OPERATORS = `select * from (select ${COLUMNS} from operators where removed_at is null) operators`
export const OPERATOR_ORDER: ListOrder<OperatorRow> = newestFirst('operators', 'operators')

export const insertOperator = statement<OperatorRow, [name: string, role: OperatorRole]>(
  'insert-operator',
  `insert into operators (name, role) values ($1, $2) returning ${COLUMNS}`,
)

/** Serializes changes of operators and of their keys: each of them takes this lock first. */
export const lockOwners = statement<{ id: string }, []>(
  'lock-operator-owners',
  `select id from operators where role = 'owner' and removed_at is null order by id for update`,
)

export const operatorById = statement<OperatorRow, [id: string]>(
  'operator-by-id',
  `select ${COLUMNS} from operators where id = $1 and removed_at is null`,
)

export const changeOperator = statement<OperatorRow, [id: string, name: string, role: OperatorRole]>(
  'change-operator',
  `update operators set name = $2, role = $3 where id = $1 returning ${COLUMNS}`,
)

export const removeOperator = statement<never, [id: string]>(
  'remove-operator',
  'update operators set removed_at = now() where id = $1',
)

export const revokeKeysOfOperator = statement<{ prefix: string }, [operatorId: string]>(
  'revoke-keys-of-operator',
  'update operator_keys set revoked_at = now() where operator_id = $1 and revoked_at is null returning prefix',
)

/** Whether an owner is left who can sign in. */
export const ownersLeft = statement<{ count: number }, []>(
  'count-operator-owners',
  `select count(*) as count from operators o where o.role = 'owner' and o.removed_at is null
     and exists (select from operator_keys k where k.operator_id = o.id and ${LIVE})`,
)

export interface OperatorKeyRow {
  readonly prefix: string
  readonly name: string
  readonly created_at: Date
  readonly expires_at: Date | null
  readonly last_used_at: Date | null
}

const KEY_COLUMNS = 'prefix, name, created_at, expires_at, last_used_at'

/** Selects {@link OperatorKeyRow}s, without conditions. */
export const SELECT_OPERATOR_KEYS = `select ${KEY_COLUMNS} from operator_keys`
export const OPERATOR_KEY_ORDER: ListOrder<OperatorKeyRow> = {
  name: 'operator-keys',
  direction: 'desc',
  keys: [
    { sql: 'created_at', type: 'timestamptz', of: (row) => row.created_at },
    { sql: 'prefix', type: 'text', of: (row) => row.prefix },
  ],
}

/** Returns no row if the prefix is taken. */
export const insertOperatorKey = statement<
  OperatorKeyRow,
  [prefix: string, operatorId: string, hash: Buffer, name: string, expiresInDays: number | null]
>(
  'insert-operator-key',
  `insert into operator_keys (prefix, operator_id, hash, name, expires_at)
   values ($1, $2, $3, $4, now() + make_interval(days => $5::int))
   on conflict (prefix) do nothing returning ${KEY_COLUMNS}`,
)

/** No row: the operator has no such key, or it was revoked before. */
export const revokeOperatorKey = statement<{ name: string }, [operatorId: string, prefix: string]>(
  'revoke-operator-key',
  `update operator_keys set revoked_at = now() where operator_id = $1 and prefix = $2 and revoked_at is null
   returning name`,
)
