import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useApi } from '../../../session/session.tsx'
import { CopyButton } from '../../../ui/copy-button.tsx'
import { Section } from '../../../ui/page.tsx'
import { SNIPPETS, snippet } from './snippets.ts'

/** How to use the sandbox from elsewhere. */
export function UseSection({ id }: { readonly id: string }) {
  const api = useApi()
  const [kind, setKind] = useState<(typeof SNIPPETS)[number]>('Command line')
  const gateway = useQuery({ queryKey: ['ssh'], queryFn: async ({ signal }) => api.ssh.gateway({ signal }) })
  const text = snippet(kind, id, api.baseUrl)
  const ssh = gateway.data && `ssh -p ${gateway.data.port} ${id}@${gateway.data.host}`
  return (
    <Section
      title="Use it from elsewhere"
      actions={
        <select
          aria-label="Kind of client"
          value={kind}
          onChange={({ currentTarget }) => setKind(currentTarget.value as typeof kind)}
          className="h-8 text-sm rounded-md border bg-surface px-2"
        >
          {SNIPPETS.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      }
    >
      <Code text={text} label="Copy the example" />
      {ssh !== undefined && (
        <div className="mt-3">
          <Code text={ssh} label="Copy the SSH command" />
        </div>
      )}
    </Section>
  )
}

function Code({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div className="flex items-start gap-2 rounded-md bg-raised p-3">
      {/* It scrolls by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre tabIndex={0} className="min-w-0 grow overflow-x-auto font-mono text-xs leading-5">
        {text}
      </pre>
      <CopyButton text={text} label={label} />
    </div>
  )
}
