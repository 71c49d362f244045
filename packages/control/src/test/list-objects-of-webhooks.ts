import { created, type ListCase, type Seed } from './list-objects.ts'

/** The list of webhooks, and that of the deliveries of one. They are disabled, so that no event adds another delivery. */
export async function webhookLists(seed: Seed): Promise<ListCase[]> {
  const webhooks = await seed.three('webhooks', () => ({
    ...seed.owned,
    url: 'https://example.com/',
    events: ['*'],
    enabled: false,
    disabled_reason: 'user',
    secret: '',
  }))
  const [webhook = ''] = webhooks
  const deliveries = await seed.three('webhook_deliveries', (name) => ({
    webhook_id: webhook,
    type: name === 'first' ? 'deploy.live' : 'deploy.failed',
    status: name === 'first' ? 'failed' : 'delivered',
    payload: {},
    expires_at: new Date(),
    finished_at: new Date(),
  }))
  return [
    {
      path: '/v1/webhooks',
      by: 'id',
      names: webhooks,
      filters: { 'enabled=false': webhooks, 'enabled=true': [], ...created(webhooks) },
    },
    {
      path: `/v1/webhooks/${webhook}/deliveries`,
      by: 'id',
      names: deliveries,
      filters: {
        'status=failed': deliveries.slice(2),
        'type=deploy.failed': deliveries.slice(0, 2),
        'type=%00': [],
        ...created(deliveries),
      },
    },
  ]
}
