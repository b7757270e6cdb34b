"""A page on this machine: write a query and see what it matches. The only room that knows the web server."""
