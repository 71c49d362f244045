import type { FileEntry, Sandbox } from '@offshoot/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import {
  Download,
  FilePlus,
  FolderOpen,
  FolderPlus,
  FolderUp,
  GitCompareArrows,
  Pencil,
  Trash2,
  Upload,
} from 'lucide-react'
import { type ChangeEvent, useRef, useState } from 'react'
import { Button, buttonClasses } from '../../../ui/button.tsx'
import { Panel } from '../../../ui/error-panel.tsx'
import { QueryView } from '../../../ui/query-view.tsx'
import { type Column, Table } from '../../../ui/table.tsx'
import { bytes, Time } from '../../../ui/time.tsx'
import { useTell } from '../../../ui/toasts.tsx'
import { MoveDialog, NewDialog, useDelete, useDownload } from './file-actions.tsx'
import { changedAt, folderQuery } from './file-queries.ts'
import { isFolder, sorted } from './tree.ts'
import { fromDrop, fromInput, type Upload as UploadedFile, uploadAll } from './upload.ts'

interface FolderViewProps {
  readonly sandbox: Sandbox
  readonly path: string
  readonly onOpen: (path: string) => void
}

const ICON = { size: 14, 'aria-hidden': true } as const

/** The content of a folder, and what one can do there. Files that are dropped on it are uploaded. */
export function FolderView({ sandbox, path, onOpen }: FolderViewProps) {
  const query = useQuery(folderQuery(sandbox, path))
  const [dialog, setDialog] = useState<'file' | 'folder' | 'move' | null>(null)
  const upload = useUpload(sandbox, path)
  const remove = useDelete(sandbox, onOpen)
  const { download, isBusy } = useDownload(sandbox)
  const [isOver, setOver] = useState(false)
  const shared = { sandbox, path, onOpen, onClose: () => setDialog(null) }
  return (
    <div
      className={`flex min-h-full flex-col gap-3 p-3 ${isOver ? 'bg-accent-soft' : ''}`}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        void upload.start(fromDrop(event.dataTransfer))
      }}
    >
      <div className="flex flex-wrap items-center gap-2">
        <h2 className="plaintext mr-auto font-mono text-sm font-semibold">{path}</h2>
        <Button small icon={<FilePlus {...ICON} />} onClick={() => setDialog('file')}>
          New file
        </Button>
        <Button small icon={<FolderPlus {...ICON} />} onClick={() => setDialog('folder')}>
          New folder
        </Button>
        <FileInput label="Upload files" icon={<Upload {...ICON} />} onFiles={(files) => void upload.start(files)} />
        <FileInput
          label="Upload a folder"
          icon={<FolderUp {...ICON} />}
          isFolder
          onFiles={(files) => void upload.start(files)}
        />
        <Button small icon={<Download {...ICON} />} busy={isBusy} onClick={() => void download(path, true)}>
          Download as tar
        </Button>
        <Link
          to="/sandboxes/$id/changes"
          params={{ id: sandbox.id }}
          search={{ path }}
          className={buttonClasses('plain', true)}
        >
          <GitCompareArrows {...ICON} /> Changes
        </Link>
        {path !== '/' && (
          <>
            <Button small icon={<Pencil {...ICON} />} onClick={() => setDialog('move')}>
              Rename or move
            </Button>
            <Button small look="danger" icon={<Trash2 {...ICON} />} onClick={() => remove(path, true)}>
              Delete
            </Button>
          </>
        )}
      </div>
      {upload.progress !== null && <Progress {...upload.progress} onCancel={upload.cancel} />}
      <QueryView query={query}>
        {(entries) =>
          entries.length === 0 ? (
            <Panel icon={<FolderOpen size={28} aria-hidden />} title="This folder is empty">
              <p className="text-muted">Drop files or folders here to upload them.</p>
            </Panel>
          ) : (
            <Table
              label={`Content of ${path}`}
              columns={columns(onOpen)}
              rows={sorted(entries)}
              idOf={(entry) => entry.path}
            />
          )
        }
      </QueryView>
      {(dialog === 'file' || dialog === 'folder') && <NewDialog what={dialog} {...shared} />}
      {dialog === 'move' && <MoveDialog {...shared} />}
    </div>
  )
}

const columns = (onOpen: (path: string) => void): readonly Column<FileEntry>[] => [
  {
    title: 'Name',
    cell: (entry) =>
      entry.pathEncoded === undefined ? (
        <button
          type="button"
          className="plaintext cursor-pointer text-left text-accent hover:underline"
          onClick={() => onOpen(entry.path)}
        >
          {entry.name}
          {isFolder(entry) ? '/' : ''}
        </button>
      ) : (
        <span className="plaintext text-muted" title="Its name is not UTF-8. Use a terminal.">
          {entry.name}
        </span>
      ),
  },
  { title: 'Size', right: true, cell: (entry) => (entry.type === 'file' ? bytes(entry.size) : '') },
  { title: 'Mode', wide: true, cell: ({ mode }) => <span className="font-mono text-xs">{mode}</span> },
  { title: 'Owner', wide: true, cell: ({ user, group }) => <span className="plaintext">{`${user}:${group}`}</span> },
  { title: 'Changed', wide: true, cell: ({ mtimeMs }) => <Time at={new Date(mtimeMs).toISOString()} /> },
]

interface FileInputProps {
  readonly label: string
  readonly icon: React.ReactNode
  readonly isFolder?: boolean
  readonly onFiles: (files: Promise<readonly UploadedFile[]>) => void
}

function FileInput({ label, icon, isFolder: ofFolder = false, onFiles }: FileInputProps) {
  const input = useRef<HTMLInputElement>(null)
  const choose = ({ currentTarget }: ChangeEvent<HTMLInputElement>) => {
    if (currentTarget.files !== null) onFiles(Promise.resolve(fromInput(currentTarget.files)))
    // The same files can be chosen again.
    currentTarget.value = ''
  }
  return (
    <>
      <Button small icon={icon} onClick={() => input.current?.click()}>
        {label}
      </Button>
      <input
        ref={input}
        type="file"
        hidden
        multiple
        aria-label={label}
        onChange={choose}
        {...(ofFolder && { webkitdirectory: '' })}
      />
    </>
  )
}

interface UploadProgress {
  readonly done: number
  readonly all: number
  readonly doneBytes: number
  readonly allBytes: number
}

function useUpload(sandbox: Sandbox, folder: string) {
  const tell = useTell()
  const queries = useQueryClient()
  const [progress, setProgress] = useState<UploadProgress | null>(null)
  const running = useRef<AbortController | null>(null)
  const send = async (found: Promise<readonly UploadedFile[]>) => {
    const cancel = new AbortController()
    running.current = cancel
    const uploads = await found
    const allBytes = uploads.reduce((sum, { file }) => sum + file.size, 0)
    setProgress({ done: 0, all: uploads.length, doneBytes: 0, allBytes })
    try {
      await uploadAll(uploads, {
        folder,
        signal: cancel.signal,
        send: async (path, file, signal) => sandbox.files.write(path, file, { signal, timeoutMs: 0 }),
        onDone: ({ file }) =>
          setProgress((old) => old && { ...old, done: old.done + 1, doneBytes: old.doneBytes + file.size }),
      })
      tell.done(uploads.length === 1 ? 'Uploaded one file' : `Uploaded ${uploads.length} files`)
    } catch (error) {
      if (!cancel.signal.aborted) throw error
      tell.done('The upload was cancelled')
    } finally {
      setProgress(null)
      await changedAt(queries, sandbox, folder)
    }
  }
  return {
    progress,
    start: async (found: Promise<readonly UploadedFile[]>) => tell.whether(send(found)),
    cancel: () => running.current?.abort(),
  }
}

function Progress({ done, all, doneBytes, allBytes, onCancel }: UploadProgress & { readonly onCancel: () => void }) {
  return (
    <div className="flex flex-wrap items-center gap-3 rounded-md border bg-raised px-3 py-2">
      <progress value={doneBytes} max={Math.max(allBytes, 1)} aria-label="Upload" className="min-w-32 grow" />
      <span role="status" className="text-muted">
        {done} of {all} files, {bytes(doneBytes)} of {bytes(allBytes)}
      </span>
      <Button small onClick={onCancel}>
        Cancel
      </Button>
    </div>
  )
}
