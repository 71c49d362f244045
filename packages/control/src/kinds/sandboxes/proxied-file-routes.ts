import {
  archiveUnpacked,
  fileChange,
  fileEntry,
  fileWritten,
  folderListing,
  listQuery,
  mkdirQuery,
  moveQuery,
  pathQuery,
  recursiveQuery,
  writeQuery,
} from '@offshoot/contract/file'
import type { ErrorName } from '@offshoot/contract/errors'
import type { ProxiedRoute } from '../../fleet/proxy/proxied-route.ts'

const BYTES = 'application/octet-stream'
const TAR = 'application/x-tar'
const tag = 'Files'
const ERRORS: readonly ErrorName[] = [
  'invalidField',
  'notFound',
  'fileNotFound',
  'sandboxNotRunning',
  'sandboxStopped',
  'sandboxMoving',
  'agentUnreachable',
  'tooManyCommands',
]
const changing: readonly ErrorName[] = [...ERRORS, 'conflict', 'diskFull']
const uploading: readonly ErrorName[] = [...changing, 'bodyTooLarge', 'requestTimeout', 'shuttingDown']

/** The file operations among the entries of `proxied-routes.ts`. */
export const proxiedFileRoutes: readonly ProxiedRoute[] = [
  {
    method: 'GET',
    url: '/v1/sandboxes/:id/fs',
    kind: 'plain',
    needs: 'guest',
    docs: {
      summary: 'Read a file, or a range of it',
      tag,
      query: pathQuery,
      status: 200,
      mediaType: BYTES,
      also: [{ status: 206, mediaType: BYTES }],
      errors: [...ERRORS, 'rangeNotSatisfiable'],
    },
  },
  {
    method: 'PUT',
    url: '/v1/sandboxes/:id/fs',
    kind: 'plain',
    needs: 'guest',
    docs: {
      summary: 'Write a file: all of it, or nothing',
      tag,
      query: writeQuery,
      bodyType: BYTES,
      status: 200,
      answer: fileWritten,
      errors: uploading,
    },
  },
  {
    method: 'DELETE',
    url: '/v1/sandboxes/:id/fs',
    kind: 'plain',
    needs: 'guest',
    docs: {
      summary: 'Delete a file, or with recursive a directory',
      tag,
      query: recursiveQuery,
      status: 204,
      errors: [...ERRORS, 'conflict'],
    },
  },
  {
    method: 'GET',
    url: '/v1/sandboxes/:id/fs/dir',
    kind: 'plain',
    needs: 'guest',
    docs: {
      summary: 'List a directory, with depth also the directories in it',
      tag,
      query: listQuery,
      status: 200,
      answer: folderListing,
      errors: [...ERRORS, 'conflict'],
    },
  },
  {
    method: 'GET',
    url: '/v1/sandboxes/:id/fs/stat',
    kind: 'plain',
    needs: 'guest',
    docs: {
      summary: 'What a path is; links are not followed',
      tag,
      query: pathQuery,
      status: 200,
      answer: fileEntry,
      errors: ERRORS,
    },
  },
  {
    method: 'POST',
    url: '/v1/sandboxes/:id/fs/mkdir',
    kind: 'plain',
    needs: 'guest',
    docs: {
      summary: 'Make a directory, with parents also those above it',
      tag,
      query: mkdirQuery,
      status: 201,
      answer: fileEntry,
      errors: changing,
    },
  },
  {
    method: 'POST',
    url: '/v1/sandboxes/:id/fs/move',
    kind: 'plain',
    needs: 'guest',
    docs: {
      summary: 'Rename a file or directory, within one file system',
      tag,
      query: moveQuery,
      status: 200,
      answer: fileEntry,
      errors: changing,
    },
  },
  {
    method: 'GET',
    url: '/v1/sandboxes/:id/fs/archive',
    kind: 'plain',
    needs: 'guest',
    docs: {
      summary: 'Read the content of a directory as a tar stream',
      tag,
      query: pathQuery,
      status: 200,
      mediaType: TAR,
      errors: ERRORS,
    },
  },
  {
    method: 'PUT',
    url: '/v1/sandboxes/:id/fs/archive',
    kind: 'plain',
    needs: 'guest',
    docs: {
      summary: 'Unpack a tar stream into a directory, which is made where it is missing, never outside of it',
      tag,
      query: pathQuery,
      bodyType: TAR,
      status: 200,
      answer: archiveUnpacked,
      errors: uploading,
    },
  },
  {
    method: 'GET',
    url: '/v1/sandboxes/:id/fs/watch',
    kind: 'sse',
    needs: 'guest',
    docs: {
      summary: 'Follow the changes in a directory (server-sent events created, modified, deleted, moved)',
      tag,
      query: recursiveQuery,
      status: 200,
      answer: fileChange,
      mediaType: 'text/event-stream',
      errors: ERRORS,
    },
  },
]
