import { NotFoundError } from '@offshoot/sdk'
import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '../../../session/session.tsx'
import { INPUT_CLASSES } from '../../../ui/field.tsx'
import { ErrorPanel } from '../../../ui/error-panel.tsx'
import { QueryView } from '../../../ui/query-view.tsx'
import { sandboxQuery } from '../../sandboxes/sandbox-queries.ts'
import { NotRunning } from '../not-running.tsx'
import { useSandboxHandle } from '../sandbox-handle.ts'
import { useFolderWatch } from './file-queries.ts'
import { FileTree } from './file-tree.tsx'
import { FileView } from './file-view.tsx'
import { FolderView } from './folder-view.tsx'
import { isFolder, parentOf } from './tree.ts'

const route = getRouteApi('/member/sandboxes/$id/files')

/** Where most people's files are. */
const DEFAULT_PATH = '/root'

/** The files of the sandbox: a tree, and the open file or folder beside it. */
export function FilesPage() {
  const { id } = route.useParams()
  const { data: sandbox } = useSuspenseQuery(sandboxQuery(useApi(), id))
  return (
    <NotRunning sandbox={sandbox} what="Reading files">
      <Files key={id} />
    </NotRunning>
  )
}

function Files() {
  const { id } = route.useParams()
  const { path = DEFAULT_PATH } = route.useSearch()
  const navigate = route.useNavigate()
  const sandbox = useSandboxHandle(id)
  const open = (next: string) => void navigate({ search: { path: next } })
  const stat = useQuery({
    queryKey: ['files', id, 'type', path],
    queryFn: async ({ signal }) => isFolder(await sandbox.files.stat(path, { signal })),
    staleTime: 0,
    gcTime: 0,
  })
  return (
    <div className="grid min-h-[60dvh] gap-3 lg:h-[calc(100dvh-14rem)] lg:grid-cols-[18rem_minmax(0,1fr)]">
      <div className="flex max-h-[40dvh] min-h-0 flex-col rounded-lg border bg-surface lg:max-h-none">
        <GoTo key={path} path={path} onOpen={open} />
        <div className="min-h-0 grow">
          <FileTree sandbox={sandbox} path={path} onOpen={open} />
        </div>
      </div>
      <div className="min-h-96 min-w-0 overflow-auto rounded-lg border bg-surface">
        {stat.error instanceof NotFoundError ? (
          <ErrorPanel error={new Error(`There is no ${path}.`)} retry={() => void stat.refetch()} />
        ) : (
          <QueryView query={stat}>
            {(isDir) => (
              <Watched key={path} folder={isDir ? path : parentOf(path)} sandboxId={id}>
                {isDir ? (
                  <FolderView sandbox={sandbox} path={path} onOpen={open} />
                ) : (
                  <FileView sandbox={sandbox} path={path} onOpen={open} />
                )}
              </Watched>
            )}
          </QueryView>
        )}
      </div>
    </div>
  )
}

interface WatchedProps {
  readonly sandboxId: string
  readonly folder: string
  readonly children: React.ReactNode
}

function Watched({ sandboxId, folder, children }: WatchedProps) {
  useFolderWatch(useSandboxHandle(sandboxId), folder)
  return children
}

/** Opens any path. */
function GoTo({ path, onOpen }: { readonly path: string; readonly onOpen: (path: string) => void }) {
  const [typed, setTyped] = useState(path)
  return (
    <form
      className="border-b p-2"
      onSubmit={(event) => {
        event.preventDefault()
        const clean = `/${typed.split('/').filter(Boolean).join('/')}`
        onOpen(clean)
      }}
    >
      <input
        aria-label="Path"
        value={typed}
        onChange={({ currentTarget }) => setTyped(currentTarget.value)}
        spellCheck={false}
        className={`${INPUT_CLASSES} !h-8 font-mono !text-xs`}
      />
    </form>
  )
}
