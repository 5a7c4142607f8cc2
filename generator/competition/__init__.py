"""Competitions: what is known of them, what the kit makes of them, and how they are scored.

`tables` reads files; `survey` looks at a competition's files, `introspection` makes a task of what it saw, `specimen`
writes synthetic data like them; `tfrecord` reads and writes for both. `submission` checks, `scoring` and
`metrics` score; `builtin` has the kit's own competitions. `facts` and `schema` say what a task is, with `value_forms`.
Everything else in the kit may import these, and they import none of it.
"""
