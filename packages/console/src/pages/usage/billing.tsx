import { useState } from 'react'
import { useSession } from '../../session/session.tsx'
import { Button } from '../../ui/button.tsx'
import { useTell } from '../../ui/toasts.tsx'

const PAID = ['pro', 'team'] as const

/** Leads to the pages of the payment provider. */
export function Billing({ plan }: { readonly plan: string | undefined }) {
  const { api } = useSession()
  const tell = useTell()
  const [isBusy, setBusy] = useState(false)
  const go = async (link: Promise<{ readonly url: string }>) => {
    setBusy(true)
    await tell.whether(link.then(({ url }) => location.assign(url)))
    setBusy(false)
  }
  return (
    <>
      {PAID.filter((each) => each !== plan).map((each) => (
        <Button
          key={each}
          disabled={isBusy}
          onClick={() => void go(api.request('POST /v1/billing/checkout', { body: { plan: each } }))}
        >
          Change to {each}
        </Button>
      ))}
      <Button disabled={isBusy} onClick={() => void go(api.request('POST /v1/billing/portal'))}>
        Manage the subscription
      </Button>
    </>
  )
}
