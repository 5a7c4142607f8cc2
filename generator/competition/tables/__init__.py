"""Read tables of any format: CSV, JSON and Parquet, from a disk, an archive or the network.

Input: bytes, and the format that a file name implies (`formats`). Output: for a survey a bounded `sample`, for checks and
scoring every row as text (`rows`); both by one reader for each format (`delimited`, `json_records`, `parquet`).
Every problem of a file is an `UnreadableTableError`, whose text is a predicate such as "is empty".

It does not depend on competitions: `survey`, `submission` and `localkaggle.hosting` import it, and it imports none of
them.
"""
