import { Link } from '@tanstack/react-router'
import { Ghost } from 'lucide-react'
import { buttonClasses } from '../ui/button.tsx'
import { Panel } from '../ui/error-panel.tsx'

/** An address without a page. */
export function NotFound() {
  return (
    <main>
      <Panel icon={<Ghost size={28} aria-hidden />} title="Page not found" role="alert" ofPage>
        <p className="text-muted">There is no page at this address.</p>
        <Link to="/" className={buttonClasses('plain')}>
          Go to the start
        </Link>
      </Panel>
    </main>
  )
}
