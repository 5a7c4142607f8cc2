"""Pairs of notebooks: their choices, their rendering, and the folder they live in.

In goes a competition with the user's options, out come two notebooks with their metadata and a `pair.toml`.

    generation   the story: facts, proposal, choices, files; and the reference pairs of a workspace
    choices      who chose what, which choice prevails, and the file of them
    spec         all that templates are told
    rendering    from a specification to the files of both kernels
    cells        parts joined into cells, shared cells, the user's own cells
    notebook     cells, parameters, the percent format
    folder       edits kept, all files written or none
    data         the competition's files where notebooks look for them
    handover     what training says of itself
    workspace    folders and names

`run`, `check`, `kaggle` and `cli` import it; it imports `competition` and `accelerators`.
"""
