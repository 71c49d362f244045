import type { AppInfo, ChangeAppOptions } from '@offshoot/sdk'
import { useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { Button } from '../../ui/button.tsx'
import { ErrorText } from '../../ui/error-panel.tsx'
import { Area, Check, Choice, Field, Input } from '../../ui/field.tsx'
import { Section } from '../../ui/page.tsx'
import { useTell } from '../../ui/toasts.tsx'
import { parseVariables } from '../sandboxes/variables.ts'
import { appQuery } from './app-queries.ts'
import { FRAMEWORKS } from './create-app-dialog.tsx'

const route = getRouteApi('/member/apps/$id')

/** What the next deploy takes, and who may open the app. */
export function SettingsTab() {
  const { id } = route.useParams()
  const { data: app } = useSuspenseQuery(appQuery(useApi(), id))
  return (
    <div className="flex flex-col gap-5">
      {app.previewOf !== null && (
        <p className="rounded-md bg-warn-soft px-3 py-2 text-warn">
          A preview takes the settings of its app. The service refuses others.
        </p>
      )}
      <Build key={`build ${id}`} app={app} />
      <Variables key={`variables ${id}`} app={app} />
    </div>
  )
}

/** Saves changes of an app. */
function useSave(id: string) {
  const api = useApi()
  const queries = useQueryClient()
  const tell = useTell()
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const save = async (changes: () => ChangeAppOptions, done: string) => {
    setBusy(true)
    setError(null)
    try {
      const app = await (await api.apps.get(id)).update(changes())
      queries.setQueryData(appQuery(api, id).queryKey, app.info)
      await queries.invalidateQueries({ queryKey: ['app', 'list'] })
      tell.done(done)
      return true
    } catch (failure) {
      setError(failure)
      return false
    } finally {
      setBusy(false)
    }
  }
  return { save, error, isBusy }
}

const textsOf = (app: AppInfo) => ({
  gitBranch: app.gitBranch,
  rootDirectory: app.rootDirectory ?? '',
  installCommand: app.installCommand ?? '',
  buildCommand: app.buildCommand ?? '',
  startCommand: app.startCommand ?? '',
  port: String(app.port),
  maxInstances: String(app.maxInstances),
  idleTimeoutSeconds: String(app.idleTimeoutSeconds),
})

type Texts = ReturnType<typeof textsOf>

const INPUTS: readonly { readonly name: keyof Texts; readonly label: string; readonly hint?: string }[] = [
  { name: 'gitBranch', label: 'Branch' },
  { name: 'rootDirectory', label: 'Root directory' },
  { name: 'installCommand', label: 'Install command', hint: 'Empty: that of the framework.' },
  { name: 'buildCommand', label: 'Build command', hint: 'Empty: that of the framework.' },
  { name: 'startCommand', label: 'Start command', hint: 'Empty: that of the framework.' },
  { name: 'port', label: 'Port' },
  { name: 'maxInstances', label: 'Instances at most', hint: '1 to 16. Further ones are made under load.' },
  { name: 'idleTimeoutSeconds', label: 'Seconds without a request before it sleeps' },
]

function Build({ app }: { readonly app: AppInfo }) {
  const { save, error, isBusy } = useSave(app.id)
  const [texts, setTexts] = useState(() => textsOf(app))
  const [framework, setFramework] = useState<string>(app.framework ?? '')
  const [visibility, setVisibility] = useState(app.visibility)
  const [flags, setFlags] = useState({ autoDeploy: app.autoDeploy, previewDeploys: app.previewDeploys })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const changes: ChangeAppOptions = {
      ...texts,
      ...flags,
      visibility,
      port: Number(texts.port),
      maxInstances: Number(texts.maxInstances),
      idleTimeoutSeconds: Number(texts.idleTimeoutSeconds),
      rootDirectory: texts.rootDirectory === '' ? null : texts.rootDirectory,
      ...(framework !== '' && { framework: framework as NonNullable<AppInfo['framework']> }),
    }
    void save(() => changes, 'Saved. The next deploy takes it.')
  }
  return (
    <Section title="Settings">
      <form onSubmit={submit} className="flex flex-col gap-4">
        <div className="grid gap-4 sm:grid-cols-2">
          {INPUTS.map(({ name, label, hint }) => (
            <Field key={name} label={label} hint={hint}>
              <Input
                value={texts[name]}
                onValueChange={(value) => setTexts({ ...texts, [name]: value })}
                spellCheck={false}
              />
            </Field>
          ))}
          <Field label="Framework">
            <Choice options={FRAMEWORKS} value={framework} onChoose={setFramework} />
          </Field>
          <Field label="Who may open it" hint="It takes effect at once.">
            <Choice
              options={[
                { value: 'public', label: 'Everybody' },
                { value: 'private', label: 'Members, and who has a link' },
              ]}
              value={visibility}
              onChoose={(value) => setVisibility(value as typeof visibility)}
            />
          </Field>
        </div>
        <Check
          label="Deploy each push to the branch"
          checked={flags.autoDeploy}
          toggle={() => setFlags({ ...flags, autoDeploy: !flags.autoDeploy })}
        />
        <Check
          label="A preview for each pull request"
          checked={flags.previewDeploys}
          toggle={() => setFlags({ ...flags, previewDeploys: !flags.previewDeploys })}
        />
        {error !== null && <ErrorText error={error} />}
        <div>
          <Button type="submit" look="primary" busy={isBusy}>
            Save
          </Button>
        </div>
      </form>
    </Section>
  )
}

function Variables({ app }: { readonly app: AppInfo }) {
  const { save, error, isBusy } = useSave(app.id)
  const [text, setText] = useState('')
  const names = Object.keys(app.env)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (await save(() => ({ env: parseVariables(text) }), 'The variables are replaced. The next deploy takes them.'))
      setText('')
  }
  return (
    <Section title="Environment variables">
      <form onSubmit={(event) => void submit(event)} className="flex flex-col gap-4">
        {names.length === 0 ? (
          <p className="text-muted">None.</p>
        ) : (
          <ul className="flex flex-wrap gap-2" aria-label="Variables">
            {names.map((name) => (
              <li key={name} className="plaintext rounded bg-raised px-2 py-1 font-mono text-xs">
                {name}=<span className="text-muted">hidden</span>
              </li>
            ))}
          </ul>
        )}
        <Field
          label="Replace all variables"
          hint="One NAME=value per line. Those that are not named here go, because the service shows nobody the values."
        >
          <Area value={text} onChange={(event) => setText(event.currentTarget.value)} spellCheck={false} />
        </Field>
        {error !== null && <ErrorText error={error} />}
        <div>
          <Button type="submit" busy={isBusy}>
            Replace the variables
          </Button>
        </div>
      </form>
    </Section>
  )
}
