import { Controls, type Node, type NodeProps, ReactFlow, ViewportPortal } from '@xyflow/react'
import { Boxes, Camera } from 'lucide-react'
import { memo, useMemo, useRef } from 'react'
import { useIsDark } from '../../layout/theme.ts'
import { StatusBadge } from '../../ui/badge.tsx'
import { classes } from '../../ui/classes.ts'
import { bytes, Time } from '../../ui/time.tsx'
import { type Link, layOut, linksOf, NODE, type Relative } from './family.ts'
import type { Cost } from './lineage-queries.ts'
import '@xyflow/react/dist/style.css'

type FamilyNode = Node<
  { readonly relative: Relative; readonly isHere: boolean; readonly cost: Cost | undefined },
  'relative'
>

interface TreePictureProps {
  readonly family: readonly Relative[]
  /** The sandbox whose page this is. */
  readonly here: string
  readonly costs: ReadonlyMap<string, Cost>
  readonly selected: ReadonlySet<string>
  readonly onSelect: (id: string, adds: boolean) => void
}

const NODE_TYPES = { relative: memo(RelativeNode) }
/** Of more relatives, only those in view are in the page. Up to that, moving the picture makes and removes no element. */
const MAX_DRAWN = 400
const FIT = { padding: 0.15, maxZoom: 1 } as const

/** The family as a tree. A click selects, and with Ctrl, Cmd or Shift adds to the selection. */
export function TreePicture({ family, here, costs, selected, onSelect }: TreePictureProps) {
  const isDark = useIsDark()
  const placed = useMemo(() => layOut(family), [family])
  const nodes = useMemo(
    () =>
      placed.map(({ relative, x, y }): FamilyNode => ({
        id: relative.id,
        type: 'relative',
        position: { x, y },
        data: { relative, isHere: relative.id === here, cost: costs.get(relative.id) },
        selected: selected.has(relative.id),
        width: NODE.width,
        height: NODE.height,
        ariaLabel: `${relative.kind} ${relative.name}, ${relative.status}`,
      })),
    [placed, here, costs, selected],
  )
  const frame = useRef<HTMLDivElement>(null)
  // See style.css. A state instead of the attribute would render all nodes again.
  const setMoving = (isMoving: boolean) => frame.current?.toggleAttribute('data-moving', isMoving)
  const links = useMemo(() => linksOf(placed), [placed])
  return (
    <div
      ref={frame}
      className="h-[60dvh] min-h-80 overflow-hidden rounded-lg border bg-surface [&_.react-flow]:[--xy-background-color:var(--surface)]"
    >
      <ReactFlow
        aria-label="Lineage"
        nodes={nodes}
        nodeTypes={NODE_TYPES}
        colorMode={isDark ? 'dark' : 'light'}
        fitView
        fitViewOptions={FIT}
        minZoom={0.02}
        maxZoom={2}
        nodesDraggable={false}
        nodesConnectable={false}
        selectNodesOnDrag={false}
        onlyRenderVisibleElements={family.length > MAX_DRAWN}
        proOptions={{ hideAttribution: true }}
        onMoveStart={() => setMoving(true)}
        onMoveEnd={() => setMoving(false)}
        onNodeClick={(event, { id }) => onSelect(id, event.ctrlKey || event.metaKey || event.shiftKey)}
        onNodesChange={(changes) => {
          // Enter on a focused node.
          for (const change of changes) if (change.type === 'select' && change.selected) onSelect(change.id, false)
        }}
      >
        <Links links={links} />
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  )
}

/**
 * The lines from parents to children, as one picture below the nodes. React Flow's own edges and handles would run code
 * for each of them in every frame in which the picture moves.
 */
const Links = memo(function Links({ links }: { readonly links: readonly Link[] }) {
  return (
    <ViewportPortal>
      <svg className="pointer-events-none absolute -z-1 size-px overflow-visible" aria-hidden>
        {links.map(({ childId, curve }) => (
          <path key={childId} data-child={childId} d={curve} className="fill-none stroke-line-strong/60" />
        ))}
      </svg>
    </ViewportPortal>
  )
})

function RelativeNode({ data: { relative, isHere, cost }, selected }: NodeProps<FamilyNode>) {
  const { kind, name, status, createdAt, deletedAt } = relative
  const isDeleted = status === 'deleted'
  const Icon = kind === 'sandbox' ? Boxes : Camera
  return (
    <div
      className={classes(
        'flex h-full w-full flex-col justify-evenly rounded-md border bg-raised px-2.5 py-1.5 text-xs text-ink',
        kind === 'snapshot' && 'border-dashed',
        isDeleted && 'opacity-60 grayscale',
        selected ? 'border-accent ring-2 ring-accent' : 'border-line-strong/50',
      )}
    >
      <span className="flex items-center gap-1.5 font-medium">
        <Icon size={13} aria-hidden className="shrink-0" />
        <span className={classes('plaintext truncate', isDeleted && 'line-through')}>{name}</span>
        {isHere && <span className="ml-auto shrink-0 text-accent">this one</span>}
      </span>
      <span className="flex items-center justify-between gap-2 text-muted">
        <StatusBadge status={status} />
        <Time at={deletedAt ?? createdAt} />
      </span>
      {!isDeleted && <span className="truncate text-muted">{describeCost(relative, cost)}</span>}
    </div>
  )
}

/** What it takes of its host: as measured, or what it may take at most. */
export function describeCost({ kind, memoryBytes }: Relative, cost: Cost | undefined): string {
  if (cost === undefined) return kind === 'snapshot' ? 'size not known yet' : `up to ${bytes(memoryBytes)} memory`
  const memory = cost.memory === null ? [] : [`${bytes(cost.memory)} memory`]
  const disk = cost.disk === null ? [] : [`${bytes(cost.disk)} disk`]
  return [...memory, ...disk].join(' · ')
}
