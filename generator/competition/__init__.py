"""Competitions: read their files, infer their task, check and score their submissions.

`tables` reads files. `survey` samples a competition's files, `introspection` infers the task from the survey, and
`specimen` writes synthetic data with the same layout. `submission` checks
a submission, `scoring` and `metrics` score it. `builtin` has the built-in competitions. `facts`, `schema` and
`value_forms` define a task. All other packages may import these, and they import no other package.
"""
