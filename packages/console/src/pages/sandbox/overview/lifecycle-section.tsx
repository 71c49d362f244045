import type { Lifecycle, Sandbox } from '@offshoot/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Pencil } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { FormDialog } from '../../../ui/dialog.tsx'
import { Check, Choice, Field, Input } from '../../../ui/field.tsx'
import { Facts, Section } from '../../../ui/page.tsx'
import { QueryView } from '../../../ui/query-view.tsx'
import { duration, Time } from '../../../ui/time.tsx'

const MS = 1000

/** How long the sandbox lives. */
export function LifecycleSection({ sandbox }: { readonly sandbox: Sandbox }) {
  const [isChanging, setChanging] = useState(false)
  const query = useQuery({
    queryKey: ['sandbox', sandbox.id, 'lifecycle'],
    queryFn: async ({ signal }) => sandbox.lifecycle({ signal }),
    staleTime: 0,
  })
  return (
    <Section
      title="Life"
      actions={
        <Button
          small
          icon={<Pencil size={14} aria-hidden />}
          disabled={query.data === undefined}
          onClick={() => setChanging(true)}
        >
          Change
        </Button>
      }
    >
      <QueryView query={query}>
        {(life) => (
          <>
            <Facts facts={factsOf(life)} />
            {isChanging && <LifecycleDialog sandbox={sandbox} life={life} onClose={() => setChanging(false)} />}
          </>
        )}
      </QueryView>
    </Section>
  )
}

function factsOf({ persistent, expiresAt, onTimeout, ttlSeconds, idleTimeoutSeconds, idleSeconds }: Lifecycle) {
  if (persistent) {
    return {
      Ends: 'never',
      Hibernates: `after ${duration(idleTimeoutSeconds * MS)} without activity`,
      'Without activity': `for ${duration(idleSeconds * MS)}`,
    }
  }
  return {
    Ends: expiresAt === null ? 'not while it hibernates' : <Time at={expiresAt} />,
    'Then it is': onTimeout === 'delete' ? 'deleted' : 'hibernated',
    'Time to live': duration(ttlSeconds * MS),
    'Without activity': `for ${duration(idleSeconds * MS)}`,
  }
}

const seconds = (minutes: string) => Math.round(Number(minutes) * 60)
const wrong = (minutes: string) => (Number(minutes) > 0 ? null : 'A number above 0.')

interface LifecycleDialogProps {
  readonly sandbox: Sandbox
  readonly life: Lifecycle
  readonly onClose: () => void
}

function LifecycleDialog({ sandbox, life, onClose }: LifecycleDialogProps) {
  const queries = useQueryClient()
  const [persistent, setPersistent] = useState(life.persistent)
  const [minutes, setMinutes] = useState(String(life.ttlSeconds / 60))
  const [idleMinutes, setIdleMinutes] = useState(String(life.idleTimeoutSeconds / 60))
  const [onTimeout, setOnTimeout] = useState<Lifecycle['onTimeout']>(life.onTimeout)
  const save = async () => {
    await sandbox.setLifecycle(
      persistent
        ? { persistent: true, idleTimeoutSeconds: seconds(idleMinutes) }
        : { persistent: false, ttlSeconds: seconds(minutes), onTimeout },
    )
    await queries.invalidateQueries({ queryKey: ['sandbox', sandbox.id] })
  }
  return (
    <FormDialog title="How long it lives" open submit="Save" onSubmit={save} onClose={onClose}>
      <Check label="Lives until it is deleted" checked={persistent} toggle={() => setPersistent(!persistent)} />
      {persistent ? (
        <Field label="Minutes without activity until it hibernates" error={wrong(idleMinutes)}>
          <Input value={idleMinutes} onValueChange={setIdleMinutes} inputMode="decimal" />
        </Field>
      ) : (
        <>
          <Field label="Minutes to live, from now" error={wrong(minutes)}>
            <Input value={minutes} onValueChange={setMinutes} inputMode="decimal" />
          </Field>
          <Field label="Then">
            <Choice
              options={[
                { value: 'delete', label: 'delete it' },
                { value: 'pause', label: 'hibernate it' },
              ]}
              value={onTimeout}
              onChoose={(value) => setOnTimeout(value as typeof onTimeout)}
            />
          </Field>
        </>
      )}
    </FormDialog>
  )
}
