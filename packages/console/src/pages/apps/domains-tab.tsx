import type { AppDomain } from '@offshoot/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Plus, RefreshCw, Trash2 } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { useConfirm } from '../../ui/confirm.tsx'
import { CopyRow } from '../../ui/copy-row.tsx'
import { ErrorText } from '../../ui/error-panel.tsx'
import { Field, Input } from '../../ui/field.tsx'
import { Facts, Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Time } from '../../ui/time.tsx'
import { useTell } from '../../ui/toasts.tsx'
import { domainsQuery } from './app-queries.ts'

const route = getRouteApi('/member/apps/$id')

/** The app's own domains. */
export function DomainsTab() {
  const { id } = route.useParams()
  const query = useQuery(domainsQuery(useApi(), id))
  return (
    <div className="flex flex-col gap-5">
      <AddDomain id={id} />
      <QueryView query={query}>
        {(domains) =>
          domains.length === 0 ? (
            <p className="text-muted">No domains yet. The app is at its own address.</p>
          ) : (
            domains.map((domain) => <Domain key={domain.domain} id={id} domain={domain} />)
          )
        }
      </QueryView>
    </div>
  )
}

function AddDomain({ id }: { readonly id: string }) {
  const api = useApi()
  const queries = useQueryClient()
  const [domain, setDomain] = useState('')
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const add = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setError(null)
    try {
      await (await api.apps.get(id)).domains.add(domain.trim())
      setDomain('')
      await queries.invalidateQueries({ queryKey: ['domain', 'list', id] })
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <form onSubmit={(event) => void add(event)} className="flex max-w-xl flex-col gap-3">
      <div className="flex items-end gap-2">
        <Field label="Domain" className="grow">
          <Input value={domain} onValueChange={setDomain} placeholder="www.example.com" spellCheck={false} required />
        </Field>
        <Button type="submit" look="primary" icon={<Plus size={15} aria-hidden />} busy={isBusy}>
          Add
        </Button>
      </div>
      {error !== null && <ErrorText error={error} />}
    </form>
  )
}

interface DomainProps {
  readonly id: string
  readonly domain: AppDomain
}

function Domain({ id, domain: { domain, status, record, url, certificate, verifiedAt } }: DomainProps) {
  const api = useApi()
  const queries = useQueryClient()
  const confirm = useConfirm()
  const tell = useTell()
  const [isBusy, setBusy] = useState(false)
  const readAgain = async () => queries.invalidateQueries({ queryKey: ['domain', 'list', id] })
  const look = async () => {
    setBusy(true)
    const looked = api.apps.get(id).then(async ({ domains }) => domains.add(domain))
    await tell.whether(looked)
    await readAgain()
    setBusy(false)
  }
  const remove = () =>
    confirm({
      title: `Remove ${domain}?`,
      description: 'The app is not served there any more.',
      action: 'Remove',
      run: async () => {
        await (await api.apps.get(id)).domains.delete(domain)
        await readAgain()
      },
    })
  return (
    <Section
      title={domain}
      actions={
        <>
          <StatusBadge status={status} />
          {status === 'pending' && (
            <Button small icon={<RefreshCw size={14} aria-hidden />} busy={isBusy} onClick={() => void look()}>
              Look again
            </Button>
          )}
          <Button small look="danger" icon={<Trash2 size={14} aria-hidden />} onClick={remove}>
            Remove
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {status === 'pending' && (
          <div className="flex flex-col gap-3">
            <p>
              Make this DNS record of the type {record.type} to prove that the domain is yours, and point the domain to
              the edge. The record may go after the verification.
            </p>
            <CopyRow label="Name of the record" text={record.name} />
            <CopyRow label="Value of the record" text={record.value} />
          </div>
        )}
        <Facts
          facts={{
            Address: (
              <a href={url} target="_blank" rel="noreferrer" className="break-all">
                {url}
              </a>
            ),
            Verified: verifiedAt === null ? 'not yet' : <Time at={verifiedAt} />,
            Certificate: <Certificate certificate={certificate} />,
          }}
        />
      </div>
    </Section>
  )
}

function Certificate({ certificate }: Pick<AppDomain, 'certificate'>) {
  if (certificate === null) return <span className="text-muted">of the service's own authority</span>
  const { source, status, error, expiresAt, nextOrderAt } = certificate
  return (
    <span className="flex flex-col items-start gap-1">
      <span className="flex flex-wrap items-center gap-2">
        <StatusBadge status={status} />
        <span className="text-muted">{source === 'acme' ? 'ordered and renewed by the service' : 'uploaded'}</span>
        {expiresAt !== null && (
          <span className="text-muted">
            ends <Time at={expiresAt} />
          </span>
        )}
      </span>
      {error !== null && <span className="plaintext text-xs text-bad">{error}</span>}
      {nextOrderAt !== null && (
        <span className="text-xs text-muted">
          next try <Time at={nextOrderAt} />
        </span>
      )}
    </span>
  )
}
