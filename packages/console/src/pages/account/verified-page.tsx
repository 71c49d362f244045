import { Link, useSearch } from '@tanstack/react-router'
import { buttonClasses } from '../../ui/button.tsx'
import { Card } from './card.tsx'

/** The page to which the link that confirms an address leads. */
export function VerifiedPage() {
  const { error } = useSearch({ from: '/verified' })
  return error === undefined ? (
    <Card title="Your address is confirmed">
      <Link to="/" className={buttonClasses('primary')}>
        Go on
      </Link>
    </Card>
  ) : (
    <Card title="This link does not work">
      <p>It is older than a day, or the mail program changed it. Sign in to have a new one sent.</p>
      <Link to="/sign-in" className={buttonClasses('primary')}>
        Sign in
      </Link>
    </Card>
  )
}
