import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useApi } from '../../session/session.tsx'
import { CopyRow } from '../../ui/copy-row.tsx'
import { Facts, Section } from '../../ui/page.tsx'
import { Time } from '../../ui/time.tsx'
import { databaseQuery } from './database-queries.ts'

const route = getRouteApi('/member/databases/$id')

/** As many dots for every secret, so that they do not tell its length. */
const DOTS = '••••••••'

/** How programs reach the database. */
export function ConnectTab() {
  const { id } = route.useParams()
  const { data: database } = useSuspenseQuery(databaseQuery(useApi(), id))
  const { connectionUrl: url, password, brokerUrl, brokerToken } = database
  const hidden = url.replace(`:${password}@`, `:${DOTS}@`)
  const curl = (token: string) =>
    `curl ${brokerUrl}/v1/query -H 'Authorization: Bearer ${token}' -d '{"sql":"select now()"}'`
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-5 lg:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
      <Section title="Connection strings">
        <div className="flex flex-col gap-4">
          <CopyRow label="URL" text={url} masked={hidden} />
          <CopyRow label="psql" text={`psql '${url}'`} masked={`psql '${hidden}'`} />
          <CopyRow label="Environment variable" text={`DATABASE_URL='${url}'`} masked={`DATABASE_URL='${hidden}'`} />
          <CopyRow label="SQL over HTTP" text={curl(brokerToken)} masked={curl(DOTS)} />
          <CopyRow label="Broker address" text={brokerUrl} />
          <CopyRow label="Broker token" text={brokerToken} masked={DOTS} />
          <p className="text-xs text-muted">
            Connections are encrypted. Copying takes the real password, also while it is hidden here.
          </p>
        </div>
      </Section>
      <Section title="About">
        <Facts
          facts={{
            Host: database.host,
            Port: database.port,
            User: <span className="font-mono text-xs break-all">{database.username}</span>,
            Database: database.database,
            Size: `${database.cpu} vCPU, ${database.memoryMb} MiB`,
            Disk: `${database.diskMb} MiB`,
            Sleeps: database.alwaysOn ? 'never' : `after ${database.idleTimeoutSeconds} s without a connection`,
            Made: <Time at={database.createdAt} />,
            'Branch of':
              database.parentId === null ? (
                'none'
              ) : (
                <Link to="/databases/$id" params={{ id: database.parentId }} className="font-mono text-xs">
                  {database.parentId}
                </Link>
              ),
          }}
        />
      </Section>
    </div>
  )
}
