/** Usage, members, keys, webhooks, audit log, settings and hosts. */
export const workspaceRoutes = [] as const
