"""Pages: prose, mathematics and code become HTML, and the site is put together.

Markdown-it, Jinja, Pygments and the TeX converter live in this room and nowhere else.
"""
