import { join } from './tree.ts'

/** A file to upload, with its path below the folder that it goes into. */
export interface Upload {
  readonly path: string
  readonly file: File
}

/** Files of a file dialog. Those of a chosen folder know their path in it. */
export function fromInput(files: FileList): readonly Upload[] {
  return Array.from(files, (file) => ({ path: file.webkitRelativePath || file.name, file }))
}

/** What was dropped: files, and folders with everything in them. Call it while the event is handled. */
export async function fromDrop({ items }: DataTransfer): Promise<readonly Upload[]> {
  const uploads = Array.from(items, async (item) => {
    const [entry, file] = [item.webkitGetAsEntry(), item.getAsFile()]
    if (entry !== null) return filesOf(entry, '')
    // Only files on the disk have an entry. A page may hand out one that it made, such as a picture.
    return file === null ? [] : [{ path: file.name, file }]
  })
  return (await Promise.all(uploads)).flat()
}

async function filesOf(entry: FileSystemEntry, folder: string): Promise<readonly Upload[]> {
  const path = folder === '' ? entry.name : `${folder}/${entry.name}`
  if (isFile(entry)) {
    const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject))
    return [{ path, file }]
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader()
  const found: (readonly Upload[])[] = []
  for (;;) {
    // A reader hands out some entries at a time, and none at the end.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (some.length === 0) return found.flat()
    found.push(...(await Promise.all(some.map((each) => filesOf(each, path)))))
  }
}

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile

const CONCURRENCY = 3

interface UploadOptions {
  readonly folder: string
  readonly signal: AbortSignal
  readonly send: (path: string, file: File, signal: AbortSignal) => Promise<unknown>
  readonly onDone: (upload: Upload) => void
}

/** Sends a few files at a time. @throws the first error, or the reason of the signal; the rest is not sent then */
export async function uploadAll(
  uploads: readonly Upload[],
  { folder, signal, send, onDone }: UploadOptions,
): Promise<void> {
  const queue = [...uploads]
  const failure = new AbortController()
  const either = AbortSignal.any([signal, failure.signal])
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      either.throwIfAborted()
      await send(join(folder, next.path), next.file, either)
      onDone(next)
    }
  }
  try {
    await Promise.all(Array.from({ length: CONCURRENCY }, work))
  } catch (error) {
    failure.abort(error)
    throw error
  }
}
