"""Tables of any format, read the same way wherever they come from.

In: bytes, and what a file name promises (`formats`). Out: for a survey a bounded `sample`, for checks and
scoring every row as text (`rows`); both by one reader for each format (`delimited`, `json_records`, `parquet`).
Whatever is wrong with a file is an `UnreadableTableError`, whose text is a predicate such as "is empty".

Knows nothing of competitions: `survey`, `submission` and `localkaggle.hosting` import it, and it imports none of them.
"""
