"""What follows from evidence and documents: every number a page may show, with its working.

Nothing here reads a file, knows a colour or prints a page.
"""
