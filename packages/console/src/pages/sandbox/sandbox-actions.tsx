import { Sandbox, type SandboxInfo } from '@offshoot/sdk'
import { useNavigate } from '@tanstack/react-router'
import { Camera, Ellipsis, GitFork, Moon, Pause, Play, Sun, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { useConfirm } from '../../ui/confirm.tsx'
import { Menu, type MenuEntry } from '../../ui/menu.tsx'
import { useTell } from '../../ui/toasts.tsx'

type Status = SandboxInfo['status']
type Action = 'pause' | 'resume' | 'hibernate' | 'wake' | 'snapshot' | 'fork'

/** What each state allows. The service refuses everything else with 409. */
const ALLOWED: Record<Status, readonly Action[]> = {
  creating: [],
  running: ['pause', 'hibernate', 'snapshot', 'fork'],
  paused: ['resume', 'snapshot', 'fork'],
  hibernated: ['wake', 'fork'],
  failed: [],
}

const ICON = { size: 15, 'aria-hidden': true } as const

const LABELS: Record<Exclude<Action, 'fork'>, Omit<MenuEntry, 'run'> & { readonly done: string }> = {
  pause: { label: 'Pause', icon: <Pause {...ICON} />, done: 'Paused' },
  resume: { label: 'Resume', icon: <Play {...ICON} />, done: 'Resumed' },
  hibernate: { label: 'Hibernate', icon: <Moon {...ICON} />, done: 'Hibernated' },
  wake: { label: 'Wake', icon: <Sun {...ICON} />, done: 'Awake' },
  snapshot: { label: 'Take a snapshot', icon: <Camera {...ICON} />, done: 'Snapshot taken' },
}

export function SandboxActions({ sandbox }: { readonly sandbox: SandboxInfo }) {
  const api = useApi()
  const tell = useTell()
  const confirm = useConfirm()
  const navigate = useNavigate()
  const [running, setRunning] = useState<Action | null>(null)
  const allowed = ALLOWED[sandbox.status]
  const open = async () => api.sandboxes.get(sandbox.id)

  const run = async (action: Action, work: (handle: Sandbox) => Promise<unknown>, done?: string) => {
    setRunning(action)
    await tell.whether(open().then(work), done)
    setRunning(null)
  }
  const fork = () =>
    run('fork', async (handle) => {
      const child = await handle.fork()
      await navigate({ to: '/sandboxes/$id', params: { id: child.id } })
    })
  const remove = () =>
    confirm({
      title: 'Delete this sandbox?',
      description: 'Its files and processes are lost. Snapshots stay.',
      action: 'Delete',
      run: async () => {
        await api.sandboxes.delete(sandbox.id)
        await navigate({ to: '/sandboxes', search: {} })
      },
    })
  const entries = (Object.keys(LABELS) as (keyof typeof LABELS)[])
    .filter((action) => allowed.includes(action))
    .map((action): MenuEntry => {
      const { done, ...shown } = LABELS[action]
      return { ...shown, run: () => void run(action, async (handle) => handle[action](), done) }
    })
  return (
    <>
      <Button
        look="primary"
        icon={<GitFork {...ICON} />}
        busy={running === 'fork'}
        disabled={!allowed.includes('fork')}
        onClick={() => void fork()}
      >
        Fork
      </Button>
      <Menu
        trigger={
          <IconButton
            look="plain"
            label="More actions"
            busy={running !== null && running !== 'fork'}
            icon={<Ellipsis {...ICON} />}
          />
        }
        groups={[entries, [{ label: 'Delete', icon: <Trash2 {...ICON} />, danger: true, run: remove }]]}
      />
    </>
  )
}
