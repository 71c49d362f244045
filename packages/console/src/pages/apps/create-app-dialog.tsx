import type { CreateAppOptions } from '@offshoot/sdk'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { Area, Check, Choice, Field, Input } from '../../ui/field.tsx'
import { parseVariables } from '../sandboxes/variables.ts'
import { repositoriesQuery } from './app-queries.ts'
import { appNameOf } from './app-name.ts'

export const FRAMEWORKS = [
  { value: '', label: 'Detect it' },
  { value: 'nextjs', label: 'Next.js' },
  { value: 'vite', label: 'Vite' },
  { value: 'node', label: 'Node.js' },
  { value: 'python', label: 'Python' },
  { value: 'static', label: 'Files' },
] as const

const FIELDS = {
  gitUrl: '',
  name: '',
  gitBranch: 'main',
  framework: '',
  rootDirectory: '',
  port: '3000',
  env: '',
}

/** Makes an app, begins its first deploy, and opens it. */
export function CreateAppDialog({ onClose }: { readonly onClose: () => void }) {
  const api = useApi()
  const navigate = useNavigate()
  const [fields, setFields] = useState(FIELDS)
  const [autoDeploy, setAutoDeploy] = useState(false)
  const set = (change: Partial<typeof FIELDS>) => setFields({ ...fields, ...change })
  const proposed = appNameOf(fields.gitUrl)
  const create = async () => {
    const { gitUrl, name, gitBranch, framework, rootDirectory, port, env } = fields
    const app = await api.apps.create({
      gitUrl: gitUrl.trim(),
      name: name.trim() || proposed,
      gitBranch: gitBranch.trim(),
      port: Number(port),
      autoDeploy,
      ...(framework !== '' && { framework: framework as NonNullable<CreateAppOptions['framework']> }),
      ...(rootDirectory.trim() !== '' && { rootDirectory: rootDirectory.trim() }),
      ...(env.trim() !== '' && { env: parseVariables(env) }),
    })
    await app.deploy()
    await navigate({ to: '/apps/$id', params: { id: app.id } })
  }
  return (
    <FormDialog
      open
      title="New app"
      description="The first deploy begins at once."
      submit="Create and deploy"
      leaves
      canSubmit={fields.gitUrl.trim() !== '' && (fields.name.trim() || proposed) !== ''}
      onSubmit={create}
      onClose={onClose}
    >
      <Repositories onChoose={({ url, branch }) => set({ gitUrl: url, gitBranch: branch })} />
      <Field label="Address of the repository" hint="http or https.">
        <Input
          value={fields.gitUrl}
          onValueChange={(gitUrl) => set({ gitUrl })}
          placeholder="https://github.com/you/site"
          spellCheck={false}
          autoFocus
          required
        />
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Name" hint="It is part of the app's address.">
          <Input value={fields.name} onValueChange={(name) => set({ name })} maxLength={64} placeholder={proposed} />
        </Field>
        <Field label="Branch">
          <Input
            value={fields.gitBranch}
            onValueChange={(gitBranch) => set({ gitBranch })}
            spellCheck={false}
            required
          />
        </Field>
        <Field label="Framework">
          <Choice options={FRAMEWORKS} value={fields.framework} onChoose={(framework) => set({ framework })} />
        </Field>
        <Field label="Port" hint="On which the app listens; it gets PORT.">
          <Input value={fields.port} onValueChange={(port) => set({ port })} inputMode="numeric" required />
        </Field>
      </div>
      <Field label="Root directory" hint="Of the app in the repository. Default: its root.">
        <Input
          value={fields.rootDirectory}
          onValueChange={(rootDirectory) => set({ rootDirectory })}
          spellCheck={false}
        />
      </Field>
      <Field label="Environment variables" hint="One NAME=value per line. Their values are never shown again.">
        <Area value={fields.env} onChange={(event) => set({ env: event.currentTarget.value })} spellCheck={false} />
      </Field>
      <Check label="Deploy each push to the branch" checked={autoDeploy} toggle={() => setAutoDeploy(!autoDeploy)} />
    </FormDialog>
  )
}

interface RepositoriesProps {
  readonly onChoose: (repository: { readonly url: string; readonly branch: string }) => void
}

/** The repositories of the connected git provider, also private ones. Nothing without one. */
function Repositories({ onChoose }: RepositoriesProps) {
  const { data: repositories = [] } = useQuery(repositoriesQuery(useApi()))
  if (repositories.length === 0) return null
  const choose = (url: string) => {
    const found = repositories.find((each) => each.clone_url === url)
    if (found !== undefined) onChoose({ url, branch: found.default_branch })
  }
  const options = repositories.map(({ clone_url: value, full_name: name, private: isPrivate }) => ({
    value,
    label: isPrivate ? `${name} (private)` : name,
  }))
  return (
    <Field label="A connected repository">
      <Choice options={[{ value: '', label: 'Choose one' }, ...options]} defaultValue="" onChoose={choose} />
    </Field>
  )
}
