import { NotFoundError, type Offshoot } from '@offshoot/sdk'
import { queryOptions } from '@tanstack/react-query'

/** By name. */
export const templatesQuery = (api: Offshoot) =>
  queryOptions({
    queryKey: ['template', 'list'],
    queryFn: async ({ signal }) => api.templates.list({ signal }).all(),
  })

/** `null`: there are only builds of this name. */
export const templateQuery = (api: Offshoot, name: string) =>
  queryOptions({
    queryKey: ['template', 'list', 'one', name],
    queryFn: async ({ signal }) => {
      try {
        return await api.templates.get(name, { signal })
      } catch (error) {
        if (error instanceof NotFoundError) return null
        throw error
      }
    },
  })

/** Newest first. @param name of one template; all without it */
export const buildsQuery = (api: Offshoot, name?: string) =>
  queryOptions({
    queryKey: ['build', 'list', name ?? null],
    queryFn: async ({ signal }) =>
      (await api.templates.builds({ ...(name !== undefined && { name }), signal }).all()).map(({ info }) => info),
  })

export const buildQuery = (api: Offshoot, id: string) =>
  queryOptions({
    queryKey: ['build', id],
    queryFn: async ({ signal }) => (await api.templates.getBuild(id, { signal })).info,
  })
