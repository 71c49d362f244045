import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useApi } from '../../../session/session.tsx'
import { Facts, Section } from '../../../ui/page.tsx'
import { duration, Time } from '../../../ui/time.tsx'
import { sandboxQuery } from '../../sandboxes/sandbox-queries.ts'

const route = getRouteApi('/member/sandboxes/$id')

/** What the sandbox is. */
export function OverviewPage() {
  const { id } = route.useParams()
  const { data: sandbox } = useSuspenseQuery(sandboxQuery(useApi(), id))
  const { parentId } = sandbox
  return (
    <Section title="About">
      <Facts
        facts={{
          Template: sandbox.template,
          Size: `${sandbox.cpu} vCPU, ${sandbox.memoryMb} MiB`,
          Made: <Time at={sandbox.createdAt} />,
          Ends: sandbox.expiresAt === null ? 'never' : <Time at={sandbox.expiresAt} />,
          'Boot time': sandbox.bootMs === null ? 'not known' : duration(sandbox.bootMs),
          Address: sandbox.guestIp ?? 'none',
          Parent:
            parentId === null ? (
              'none'
            ) : (
              <Link to="/sandboxes/$id" params={{ id: parentId }} className="font-mono text-xs">
                {parentId}
              </Link>
            ),
          Previews: sandbox.visibility,
        }}
      />
    </Section>
  )
}
