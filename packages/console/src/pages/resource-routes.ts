/** Templates, databases, apps and volumes. */
export const resourceRoutes = [] as const
