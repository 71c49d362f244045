import { X509Certificate } from 'node:crypto'
import type { AcmeSettings } from '@offshoot/contract/control-settings'
import type { Deadline } from '@offshoot/kit/deadline'
import { type Authorization, type Client, crypto, type Order } from 'acme-client'
import type pg from 'pg'
import { transaction } from '../../../platform/db/transaction.ts'
import type { Seal } from '../../../platform/secrets/seal.ts'
import { lockAccount } from '../../orgs/identity/account-statements.ts'
import { acmeAccount } from './acme-account.ts'
import { countOrder, type OrderRow, setCertificate, setChallenge, setOrder, setOrderKey } from './order-statements.ts'

export interface Ordering {
  readonly pool: pg.Pool
  readonly seal: Seal
  readonly settings: AcmeSettings
}

/** The row is gone or has another certificate. This process must not write to it any more. */
export class OrderTaken extends Error {
  override readonly name = 'OrderTaken'
}

/** The reason why there is no certificate, as a text for the owner. */
export class OrderFailure extends Error {
  override readonly name = 'OrderFailure'
}

/**
 * Continues an order (RFC 8555, 7.4) from its current state until its certificate is stored and served. The key and the
 * order's URL are stored before their use, so that another process can continue. If the URL was lost, control orders
 * again; authorities return the same order while it is open.
 */
export async function orderCertificate(
  ordering: Ordering,
  row: OrderRow,
  creator: number,
  deadline: Deadline,
): Promise<void> {
  const { pool, seal, settings } = ordering
  const client = await deadline.race(acmeAccount(pool, seal, settings))
  const { key, order } = await deadline.race(openOrder(ordering, row, creator, client))
  if (order.status === 'pending') await deadline.race(prove(ordering, row, creator, client, order))
  if (order.status === 'invalid') throw new OrderFailure('the order was refused')
  const isFinal = order.status === 'valid' || order.status === 'processing'
  const [, csr] = await crypto.createCsr({ altNames: [row.domain] }, key)
  const final = isFinal ? order : await deadline.race(client.finalizeOrder(order, csr))
  const chain = await deadline.race(client.getCertificate(final))
  const leaf = new X509Certificate(chain)
  if (leaf.checkHost(row.domain) === undefined) throw new OrderFailure('the authority sent one for another domain')
  const sealed = seal.close(key)
  const dates = [new Date(leaf.validFrom), new Date(leaf.validTo)] as const
  await mustBeOurs(setCertificate(pool, row.id, creator, chain, sealed, leaf.fingerprint256, ...dates))
}

async function openOrder({ pool, seal }: Ordering, row: OrderRow, creator: number, client: Client) {
  if (row.order_url !== null && row.order_key !== null) {
    // The library needs only the URL to load the rest of the order.
    const order = await client.getOrder({ url: row.order_url } as Order)
    return { key: seal.open(row.order_key), order }
  }
  if (row.workspace_id !== null) await count(pool, row.workspace_id)
  const key = (await crypto.createPrivateEcdsaKey()).toString()
  await mustBeOurs(setOrderKey(pool, row.id, creator, seal.close(key)))
  const order = await client.createOrder({ identifiers: [{ type: 'dns', value: row.domain }] })
  await mustBeOurs(setOrder(pool, row.id, creator, order.url))
  return { key, order }
}

async function count(pool: pg.Pool, workspaceId: string): Promise<void> {
  await transaction(pool, async (connection) => {
    await lockAccount(connection, workspaceId)
    const [counted] = await countOrder(connection, workspaceId)
    if (counted === undefined) throw new OrderFailure('the workspace has ordered too many certificates within an hour')
  })
}

/**
 * Proves control of the domain to the authority: the edge, or {@link ChallengeListener} for the API's own name, answers
 * its HTTP challenge.
 */
async function prove({ pool }: Ordering, row: OrderRow, creator: number, client: Client, order: Order): Promise<void> {
  for (const authorization of await client.getAuthorizations(order)) {
    if (authorization.status === 'valid') continue
    const challenge = authorization.challenges.find(({ type }) => type === 'http-01')
    if (challenge === undefined) throw new OrderFailure('the authority takes no proof by HTTP')
    const answer = await client.getChallengeKeyAuthorization(challenge)
    await mustBeOurs(setChallenge(pool, row.id, creator, challenge.token, answer))
    if (challenge.status === 'pending') await client.completeChallenge(challenge)
    await client.waitForValidStatus(authorization).catch(async (error: unknown) => {
      throw (await refusalIn(client, order, authorization)) ?? error
    })
  }
}

/** The authority's reason for refusing the challenge. */
async function refusalIn(client: Client, order: Order, { url }: Authorization): Promise<OrderFailure | null> {
  const all = await client.getAuthorizations(order)
  const challenges = all.find((each) => each.url === url)?.challenges ?? []
  const details = challenges.flatMap(({ error }) =>
    error === undefined ? [] : [(error as { detail?: string }).detail],
  )
  return details[0] === undefined ? null : new OrderFailure(details[0])
}

async function mustBeOurs(written: Promise<readonly unknown[]>): Promise<void> {
  if ((await written).length === 0) throw new OrderTaken()
}
