import type { WebhookInfo } from '@offshoot/sdk'
import { Badge } from '../../ui/badge.tsx'
import { Time } from '../../ui/time.tsx'

const REASONS: Record<NonNullable<WebhookInfo['disabledReason']>, string> = {
  user: 'disabled',
  gone: 'disabled: the address answered 410',
  failing: 'disabled: every attempt of 23 hours failed',
  backlog: 'disabled: more than 10,000 messages waited',
}

/** Whether messages are sent, and arrive. */
export function WebhookState({ webhook }: { readonly webhook: WebhookInfo }) {
  const { enabled, disabledReason, failingSince } = webhook
  if (!enabled)
    return <Badge tone={disabledReason === 'user' ? 'neutral' : 'bad'}>{REASONS[disabledReason ?? 'user']}</Badge>
  if (failingSince !== null) {
    return (
      <Badge tone="warn">
        failing since <Time at={failingSince} />
      </Badge>
    )
  }
  return <Badge tone="good">enabled</Badge>
}
