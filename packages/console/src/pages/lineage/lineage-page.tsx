import { getRouteApi, Link } from '@tanstack/react-router'
import { GitFork, Trophy } from 'lucide-react'
import { useMemo, useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { Button, buttonClasses } from '../../ui/button.tsx'
import { useConfirm } from '../../ui/confirm.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { ErrorPanel } from '../../ui/error-panel.tsx'
import { Field, Input } from '../../ui/field.tsx'
import { Loading } from '../../ui/query-view.tsx'
import { CommandComparison, FileComparison } from './comparison-view.tsx'
import { leavesOf, type Relative } from './family.ts'
import { useFamily } from './lineage-queries.ts'
import { TreePicture } from './tree-picture.tsx'

const route = getRouteApi('/member/sandboxes/$id')

/** Who came of whom, and how they differ. */
export function LineagePage() {
  const { id } = route.useParams()
  const { family, error } = useFamily(id)
  if (family !== undefined) return <Family key={id} family={family} here={id} />
  return error === null ? <Loading /> : <ErrorPanel error={error} />
}

function Family({ family, here }: { readonly family: readonly Relative[]; readonly here: string }) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const selected = useMemo(() => family.filter(({ id }) => chosen.has(id)), [family, chosen])
  const leaves = leavesOf(family)
  const running = selected.filter(({ kind, status }) => kind === 'sandbox' && status === 'running')
  const compared = running.length > 1 ? running : leaves
  const select = (id: string, adds: boolean) =>
    setChosen((old) => {
      const next = new Set(adds ? old : [])
      if (adds && old.has(id)) next.delete(id)
      else next.add(id)
      return next
    })
  return (
    <div className="flex flex-col gap-5">
      <div className="flex min-h-9 flex-wrap items-center gap-2">
        <p className="grow text-muted" role="status">
          {describe(family, selected)}
        </p>
        {selected.length === 1 && selected[0] !== undefined && <NodeActions relative={selected[0]} here={here} />}
      </div>
      <TreePicture family={family} here={here} selected={chosen} onSelect={select} />
      <CommandComparison leaves={compared} />
      <FileComparison leaves={compared} />
    </div>
  )
}

function describe(family: readonly Relative[], selected: readonly Relative[]): string {
  const [only] = selected
  if (only === undefined) return `${family.length} related. Choose one; Ctrl or Shift adds more, to compare them.`
  return selected.length === 1 ? `${only.kind} ${only.name}` : `${selected.length} chosen, to compare them`
}

/** Most children of one fork. */
const MAX_CHILDREN = 16

function NodeActions({ relative, here }: { readonly relative: Relative; readonly here: string }) {
  const api = useApi()
  const confirm = useConfirm()
  const [isForking, setForking] = useState(false)
  const [count, setCount] = useState('4')
  const { id, kind, status, forkTreeId } = relative
  const isSandbox = kind === 'sandbox' && status !== 'deleted'
  const isCount = /^\d+$/.test(count) && Number(count) >= 1 && Number(count) <= MAX_CHILDREN
  const promote = () =>
    confirm({
      title: `Promote ${relative.name}?`,
      description: 'It no longer belongs to its parent. Its siblings are deleted.',
      action: 'Promote',
      run: async () => (await api.sandboxes.get(id)).promote(),
    })
  const fork = async () => (await api.sandboxes.get(id)).fork({ count: Number(count) })
  return (
    <>
      {isSandbox && id !== here && (
        <Link to="/sandboxes/$id" params={{ id }} className={buttonClasses('plain')}>
          Open
        </Link>
      )}
      {isSandbox && (
        <Button icon={<GitFork size={15} aria-hidden />} onClick={() => setForking(true)}>
          Fork
        </Button>
      )}
      {isSandbox && forkTreeId !== null && (
        <Button icon={<Trophy size={15} aria-hidden />} onClick={promote}>
          Promote
        </Button>
      )}
      {isForking && (
        <FormDialog
          open
          title={`Fork ${relative.name}`}
          description="Each child has the processes, memory and files of this instant."
          submit="Fork"
          canSubmit={isCount}
          onSubmit={fork}
          onClose={() => setForking(false)}
        >
          <Field label="Children" error={isCount ? null : `A number from 1 to ${MAX_CHILDREN}.`}>
            <Input value={count} onValueChange={setCount} inputMode="numeric" autoFocus />
          </Field>
        </FormDialog>
      )}
    </>
  )
}
