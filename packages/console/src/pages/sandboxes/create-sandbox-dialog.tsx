import type { CreateSandboxOptions } from '@offshoot/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useRouter } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { Area, Check, Choice, Field, Input } from '../../ui/field.tsx'
import { sandboxQuery } from './sandbox-queries.ts'
import { parseVariables } from './variables.ts'

const DEFAULT_MINUTES = 60

/** Makes a sandbox and opens it. */
export function CreateSandboxDialog({ onClose }: { readonly onClose: () => void }) {
  const api = useApi()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const router = useRouter()
  // The terminal that follows appears sooner.
  useEffect(() => void router.loadRouteChunk(router.routesByPath['/sandboxes/$id/terminal']), [router])
  const templates = useQuery({
    queryKey: ['template', 'list'],
    queryFn: async ({ signal }) => api.templates.list({ signal }).all(),
  })
  const volumes = useQuery({
    queryKey: ['volume', 'list'],
    queryFn: async ({ signal }) => api.volumes.list({ signal }).all(),
  })
  const [name, setName] = useState('')
  const [template, setTemplate] = useState('base')
  const [minutes, setMinutes] = useState(String(DEFAULT_MINUTES))
  const [isPersistent, setPersistent] = useState(false)
  const [egress, setEgress] = useState<'open' | 'none'>('open')
  const [volume, setVolume] = useState('')
  const [variables, setVariables] = useState('')
  const names = templates.data?.map((each) => each.name) ?? [template]
  const create = async () => {
    const options: CreateSandboxOptions = {
      template,
      ...(name.trim() !== '' && { metadata: { name: name.trim() } }),
      ...(isPersistent ? { persistent: true } : { ttlSeconds: Math.round(Number(minutes) * 60) }),
      ...(volume !== '' && { volumes: [{ name: volume }] }),
      ...(variables.trim() !== '' && { env: parseVariables(variables) }),
      ...(egress !== 'open' && { network: { egress } }),
    }
    const sandbox = await api.sandboxes.create(options)
    queries.setQueryData(sandboxQuery(api, sandbox.id).queryKey, sandbox.info)
    await navigate({ to: '/sandboxes/$id/terminal', params: { id: sandbox.id } })
  }
  return (
    <FormDialog title="New sandbox" open submit="Create" leaves onSubmit={create} onClose={onClose}>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Name" hint="Kept as the tag name.">
          <Input value={name} onValueChange={setName} maxLength={100} autoFocus />
        </Field>
        <Field label="Template">
          <Choice options={names} value={template} onChoose={setTemplate} />
        </Field>
        <Field label="Minutes to live" error={Number(minutes) > 0 ? null : 'A number above 0.'}>
          <Input value={minutes} onValueChange={setMinutes} inputMode="decimal" disabled={isPersistent} />
        </Field>
        <Check
          className="self-end pb-2"
          label="Lives until it is deleted"
          checked={isPersistent}
          toggle={() => setPersistent(!isPersistent)}
        />
        <Field label="Network">
          <Choice
            options={[
              { value: 'open', label: 'The internet' },
              { value: 'none', label: 'None' },
            ]}
            value={egress}
            onChoose={(value) => setEgress(value as typeof egress)}
          />
        </Field>
        <Field label="Volume">
          <Choice
            options={[{ value: '', label: 'None' }, ...(volumes.data?.map((each) => each.name) ?? [])]}
            value={volume}
            onChoose={setVolume}
          />
        </Field>
      </div>
      <Field label="Environment variables" hint="One NAME=value per line.">
        <Area value={variables} onChange={(event) => setVariables(event.currentTarget.value)} spellCheck={false} />
      </Field>
    </FormDialog>
  )
}
