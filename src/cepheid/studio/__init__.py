"""A page on this machine: write a query and see what it matches. The only room that knows the web server.

`access` checks who asks, `app` has the addresses, and `jobs` runs requests in threads, where a newer one of a page
replaces an older one. The events are read once (`source`). The page itself is TypeScript in `web/`, built into
`page/`.
"""
