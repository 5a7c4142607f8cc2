"""Read tables of any format: CSV, JSON and Parquet, from a disk, an archive or the network.

Input: bytes, and the format that a file name implies (`formats`). Output: a sample of rows for a survey, or
every row as text for checks and scoring. Each format has one reader (`readers`).
Every problem of a file is an `UnreadableTableError`, whose text is a predicate such as "is empty".

It does not depend on competitions: `survey`, `submission` and `localkaggle.hosting` import it, and it imports none of
them.
"""
