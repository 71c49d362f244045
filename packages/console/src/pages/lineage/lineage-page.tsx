import { getRouteApi, Link } from '@tanstack/react-router'
import { GitFork, Trophy } from 'lucide-react'
import { useMemo, useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { Button, buttonClasses } from '../../ui/button.tsx'
import { useConfirm } from '../../ui/confirm.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { ErrorPanel } from '../../ui/error-panel.tsx'
import { Check, Field, Input } from '../../ui/field.tsx'
import { Loading } from '../../ui/query-view.tsx'
import { CommandComparison, FileComparison } from './comparison-view.tsx'
import { leavesOf, type Relative, withoutDeadEnds } from './family.ts'
import { type Cost, useCosts, useFamily } from './lineage-queries.ts'
import { describeCost, TreePicture } from './tree-picture.tsx'

const route = getRouteApi('/member/sandboxes/$id')

/** Who came of whom, and how they differ. */
export function LineagePage() {
  const { id } = route.useParams()
  const { family, isCut, error } = useFamily(id)
  if (family !== undefined) return <Family key={id} all={family} isCut={isCut} here={id} />
  return error === null ? <Loading /> : <ErrorPanel error={error} />
}

interface FamilyProps {
  readonly all: readonly Relative[]
  /** Whether the service knows more relatives than it has sent. */
  readonly isCut: boolean
  readonly here: string
}

function Family({ all, isCut, here }: FamilyProps) {
  const [showsDeleted, setShowsDeleted] = useState(false)
  const family = useMemo(() => (showsDeleted ? all : withoutDeadEnds(all, here)), [all, here, showsDeleted])
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const selected = useMemo(() => family.filter(({ id }) => chosen.has(id)), [family, chosen])
  const costs = useCosts(family, chosen)
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
          {describe(family, selected, costs)}
          {isCut && ' There are more relatives than this page can show.'}
        </p>
        {all.some(({ status }) => status === 'deleted') && (
          <Check label="Show all deleted" checked={showsDeleted} toggle={() => setShowsDeleted((old) => !old)} />
        )}
        {selected.length === 1 && selected[0] !== undefined && <NodeActions relative={selected[0]} here={here} />}
      </div>
      <TreePicture family={family} here={here} costs={costs} selected={chosen} onSelect={select} />
      <CommandComparison leaves={compared} />
      <FileComparison leaves={compared} />
    </div>
  )
}

const LINKS: Readonly<Record<Relative['link'], string>> = {
  template: 'made from the template',
  fork: 'a fork',
  from_snapshot: 'started from a snapshot',
  snapshot_of: 'taken of a sandbox',
}

function describe(
  family: readonly Relative[],
  selected: readonly Relative[],
  costs: ReadonlyMap<string, Cost>,
): string {
  const [only] = selected
  if (only === undefined) return `${family.length} related. Choose one; Ctrl or Shift adds more, to compare them.`
  if (selected.length > 1) return `${selected.length} chosen, to compare them`
  const { kind, name, link, template, status } = only
  const origin = link === 'template' ? `${LINKS.template} ${template}` : LINKS[link]
  return `${kind} ${name}, ${origin}, ${status === 'deleted' ? 'deleted' : describeCost(only, costs.get(only.id))}`
}

/** Most children of one fork. */
const MAX_CHILDREN = 16

function NodeActions({ relative, here }: { readonly relative: Relative; readonly here: string }) {
  const api = useApi()
  const confirm = useConfirm()
  const [isForking, setForking] = useState(false)
  const [count, setCount] = useState('4')
  const { id, kind, status, canBePromoted } = relative
  const isSandbox = kind === 'sandbox' && status !== 'deleted'
  const isCount = /^\d+$/.test(count) && Number(count) >= 1 && Number(count) <= MAX_CHILDREN
  const promote = () =>
    confirm({
      title: `Promote ${relative.name}?`,
      description: 'Its siblings are deleted.',
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
      {isSandbox && canBePromoted && (
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
